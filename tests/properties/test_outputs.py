"""Output streams, INTERNAL results and derived streams are exact at every instant, over any cut of time and any
number of shards. Plans are lowered as those of registered queries."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.plan.output_streams import is_known_at_every_instant
from panes.testing import counted
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import NT, UPA, history, outputs, together
from tests.properties.shards import Shards
from tests.reference.relations import Reference
from tests.reference.values import Bag, comparable

CASES = Cases(
    plan=lambda drawing: drawing.output(drawing.random.randint(0, 2)),
    most_rows=16,
    most_clocks=4,
    ways=(UPA, UPA, NT),
)


def changes_of(case: Case) -> str:
    """The setting under which the changes of every instant are known: groups over a window on a stream are groups
    like any other."""
    return "epoch" if is_known_at_every_instant(case.plan) else "instant"


def expected(case: Case) -> dict[int, Bag]:
    return Reference(case.arrivals.tables, case.arrivals.clocks[-1]).history(case.plan)


@drawn(CASES, share=0.05)
def test_what_happens_at_every_instant_is_that_of_the_reference(case: Case) -> None:
    dataflow = case.way.lower(case.plan, changes=changes_of(case))
    assert history(list(outputs(dataflow, case.arrivals)), case.arrivals.clocks[-1]) == expected(case)


@drawn(CASES, share=0.03)
def test_neither_shards_nor_the_cut_of_time_change_what_happens(case: Case) -> None:
    clocks = case.arrivals.clocks
    history_of = expected(case)
    for cut, shards in ((clocks, 1), (clocks, 3), (clocks[-1:], 2)):
        run = Shards.of(
            case.plan,
            shards,
            strategy=case.way.strategy,
            every_instant=changes_of(case) == "instant",
            large_tables=case.large_tables,
        )
        spans = case.arrivals.with_clocks(cut).spans()
        tables = [run.process(came, since, clock) for came, since, clock in spans]
        assert history(tables, clocks[-1]) == history_of, f"{shards} shards, cut at {cut}"


@drawn(Cases(deepest=2, most_rows=16, ways=(UPA, NT)), share=0.02)
def test_changes_of_plain_relations_are_those_of_the_reference_where_they_are_of_every_instant(
    case: Case,
) -> None:
    run = Shards.of(
        case.plan,
        3,
        strategy=case.way.strategy,
        every_instant=changes_of(case) == "instant",
        large_tables=case.large_tables,
    )
    tables = [run.process(came, since, clock) for came, since, clock in case.arrivals.spans()]
    assert history(tables, case.arrivals.clocks[-1]) == expected(case)


@drawn(Cases(deepest=2, most_rows=20, ways=(UPA, NT)), share=0.01)
def test_answers_of_plain_relations_are_those_of_the_reference_at_every_clock(case: Case) -> None:
    reference = Reference(case.arrivals.tables, case.arrivals.clocks[-1])
    run = Shards.of(case.plan, 3, strategy=case.way.strategy, large_tables=case.large_tables)
    tables: list[pa.Table] = []
    for came, since, clock in case.arrivals.spans():
        tables.append(run.process(came, since, clock))
        found = counted(contents_at(together(tables), clock))
        assert found == comparable(reference.bag(case.plan, clock)), f"at {clock}"
