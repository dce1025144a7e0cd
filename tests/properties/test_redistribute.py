"""A query that goes on with another number of shards tells what it would have told without."""

from __future__ import annotations

from itertools import cycle

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.testing import same_rows
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.plans import Drawing
from tests.properties.running import DIRECT, NT, UPA, history, together
from tests.properties.shards import Shards

NUMBERS = (1, 2, 3, 5)


def check_redistributed(case: Case, first: int) -> None:
    """Runs a case undisturbed, and with another number of shards after every epoch."""
    spans = case.arrivals.spans()
    still = Shards.of(case.plan, first, strategy=case.way.strategy, large_tables=case.large_tables)
    moved = Shards.of(case.plan, first, strategy=case.way.strategy, large_tables=case.large_tables)
    numbers = cycle([*NUMBERS[NUMBERS.index(first) + 1 :], *reversed(NUMBERS)])
    tables: tuple[list[pa.Table], list[pa.Table]] = ([], [])
    for came, since, clock in spans:
        tables[0].append(still.process(came, since, clock))
        tables[1].append(moved.process(came, since, clock))
        answer = contents_at(together(tables[0]), clock)
        assert same_rows(moved.answer(clock), answer) is None, f"answer at {clock}"
        moved = moved.redistributed(next(numbers), clock)
        assert same_rows(moved.answer(clock), answer) is None, f"moved answer at {clock}"
    last = case.arrivals.clocks[-1]
    assert history(tables[1], last) == history(tables[0], last)


@drawn(Cases(ways=(UPA, NT), most_clocks=6), share=0.04)
def test_relations_go_on_with_another_number_of_shards(case: Case) -> None:
    check_redistributed(case, 2)


@drawn(Cases(retracts=False, ways=(DIRECT,), most_clocks=6), share=0.01)
def test_scanned_states_go_on_with_another_number_of_shards(case: Case) -> None:
    check_redistributed(case, 3)


@drawn(Cases(plan=Drawing.with_tables, ways=(UPA, NT), most_clocks=6, out_of_order=True), share=0.02)
def test_tables_of_every_shard_and_of_one_go_on_with_another_number_of_shards(case: Case) -> None:
    check_redistributed(case, 2)


@drawn(
    Cases(
        plan=lambda drawing: drawing.output(drawing.random.randint(0, 2)),
        most_rows=24,
        most_clocks=6,
        ways=(UPA, NT),
    ),
    share=0.02,
)
def test_output_streams_go_on_with_another_number_of_shards(case: Case) -> None:
    check_redistributed(case, 5)


@drawn(Cases(ways=(UPA, NT), most_clocks=6, out_of_order=True), share=0.01)
def test_late_and_early_tuples_find_their_state_on_another_number_of_shards(case: Case) -> None:
    check_redistributed(case, 1)
