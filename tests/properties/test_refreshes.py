"""Answers that are refreshed by deadline are those of SQL over their windows as of the slide that was refreshed.

Spans are cut anywhere, shards change their number, tuples come late, queries are dropped, and any of them are
refreshed in an epoch, in any company. What readers see is read from the chunks of earlier epochs, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa

from panes.answers.answer_from_refreshes import AnswerFromRefreshes
from panes.answers.open_segments import OpenSegments
from panes.delta.consolidate import AT, contents_at
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS
from panes.plan import nodes
from panes.plan.windows import RangeWindow
from panes.runtime.refreshes_after import refreshes_after
from panes.sharing.joined_aggregate import JoinedAggregate, joined_aggregate_of
from panes.sharing.refreshes import Refresh, Refreshes
from panes.sharing.shared_cells import SharedCells
from panes.sharing.shared_synopsis import SharedSynopsis
from panes.sharing.windowed_aggregate import WindowedAggregate, windowed_aggregate_of
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import QueryProgress
from panes.state.storage.epoch_states import StagePlace
from panes.state.storage.refreshed import Refreshed
from panes.synopses.definition import Definition
from panes.synopses.join_definition import JoinDefinition, pane_of
from panes.testing import Oracle, same_rows
from tests.properties.running import connection, together
from tests.properties.streams import Arrivals
from tests.properties.test_join_synopses import Shared as SharedJoin
from tests.properties.test_join_synopses import drawn_queries as drawn_joins
from tests.properties.test_synopses import Shared, drawn_queries

SETS = int(os.environ.get("PANES_SYNOPSIS_SETS", "25"))


@dataclass(frozen=True)
class Epochs(OpenSegments):
    """The chunks of all epochs, as readers find them."""

    kept: dict[tuple[int, int], dict[str, list[Chunk]]]

    def chunks(self, stage: StagePlace, shard: int, epoch: int) -> dict[str, list[Chunk]]:
        del stage
        return self.kept[shard, epoch]


def sliding_by(plan: nodes.Node, pane_us: int) -> nodes.Node:
    """The plan with a window that slides by a pane: what may be asked for at any slide of the synopsis."""
    if isinstance(plan, nodes.Window):
        assert isinstance(plan.spec, RangeWindow)
        return nodes.Window(plan.child, replace(plan.spec, slide_us=pane_us))
    return nodes.with_children(plan, *(sliding_by(child, pane_us) for child in plan.children))


def check(random: Random) -> int:
    """Runs the queries of one synopsis next to the oracle; gives how many refreshed answers were compared."""
    plans = drawn_queries(random)
    found = {n: r for n, plan in enumerate(plans) if (r := windowed_aggregate_of(plan)) is not None}
    arrivals = Arrivals.drawn(random, 40, 6).out_of_order(random)
    source = next((reading.reader.source for reading in found.values()), None)
    readings = {n: r for n, r in found.items() if r.reader.source == source}
    if source is None:
        return 0
    definition = Definition.of([reading.reader for reading in readings.values()])
    node = definition.node(random.choice(("auto", "running", "interval", "basic")), len(readings))
    readings = {number: reading.over(node) for number, reading in readings.items()}
    state = Shared(random, node, source, random.choice((1, 2, 3)))

    def advance(came: Mapping[str, pa.Table], since: int, clock: int, is_first: bool) -> None:
        state.advance(came[source.scan.stream], since, clock, is_first=is_first)

    def opened(chunks: Mapping[str, list[Chunk]]) -> SharedSynopsis:
        return SharedSynopsis(node, chunks)

    return run(random, state, advance, opened, plans, readings, arrivals, definition.pane_us)


def check_cells(random: Random) -> int:
    """The same of queries over one join."""
    plans = drawn_joins(random)
    found = {n: r for n, plan in enumerate(plans) if (r := joined_aggregate_of(plan)) is not None}
    arrivals = Arrivals.drawn(random, 40, 6).out_of_order(random)
    source = next((reading.reader.source for reading in found.values()), None)
    readings = {n: r for n, r in found.items() if r.reader.source == source}
    if source is None:
        return 0
    node = JoinDefinition.of([reading.reader for reading in readings.values()]).node()
    state = SharedJoin(node, random.choice((1, 2, 3)))

    def advance(came: Mapping[str, pa.Table], since: int, clock: int, is_first: bool) -> None:
        state.advance(came, since, clock, is_first=is_first)

    def opened(chunks: Mapping[str, list[Chunk]]) -> SharedCells:
        return SharedCells(node, chunks)

    return run(random, state, advance, opened, plans, readings, arrivals, pane_of(node))


def run(
    random: Random,
    state: Shared | SharedJoin,
    advance: Callable[[Mapping[str, pa.Table], int, int, bool], None],
    opened: Callable[[Mapping[str, list[Chunk]]], SharedSynopsis | SharedCells],
    plans: Sequence[nodes.Node],
    readings: dict[int, WindowedAggregate] | dict[int, JoinedAggregate],
    arrivals: Arrivals,
    pane_us: int,
) -> int:
    """Epochs that advance a state, refresh some answers and read them; gives how many were compared."""
    oracle = Oracle(arrivals.tables, connection())
    open_ = Epochs({})
    ran: QueryProgress | None = None
    told: dict[int, list[pa.Table]] = {}
    compared = 0
    for epoch, (came, since, clock) in enumerate(arrivals.spans()):
        spread_before = 0 if epoch == 0 else len(state.chunks)
        if epoch and random.randrange(4) == 0:
            state.reshard(random.choice((1, 2, 3)))
        advance(came, since, clock, epoch == 0)
        if epoch == 3:
            readings.pop(random.choice(list(readings)))
        refreshes = drawn_refreshes(random, readings, pane_us, ran)
        for shard, chunks in enumerate(state.chunks):
            store = opened(chunks)
            store.refresh(refreshes, clock)
            state.chunks[shard] = open_.kept[shard, epoch] = store.chunks
        place = StagePlace(1, 0, 0, state.stage.is_sharded)
        progress = QueryProgress(
            1, 0, 0, 0, epoch, epoch - 1, since, clock, len(state.chunks), spread_before, place
        )
        ran = refreshes_after(progress, ran, refreshes, ())
        for number, reading in readings.items():
            rows = AnswerFromRefreshes(open_, number, reading)
            refreshed = ran.refreshed.get(number)
            shown = rows.at(ran, clock, is_first=epoch == 0)
            if refreshed is None:
                assert shown.num_rows == 0
                continue
            plan = sliding_by(plans[number], pane_us)
            difference = same_rows(shown, oracle.answer_at(plan, refreshed.slide))
            assert difference is None, f"{state.node}: {plan} as of {refreshed}: {difference}"
            events = rows.events(ran, is_first=epoch == 0)
            told.setdefault(number, []).append(events)
            assert same_rows(added_up(told[number]), shown) is None
            compared += 1
    return compared


def added_up(events: list[pa.Table]) -> pa.Table:
    """What the changes so far come to."""
    changes = together([e.rename_columns([TS if n == AT else n for n in e.column_names]) for e in events])
    return contents_at(changes.append_column(EXP, pa.array([FOREVER] * changes.num_rows)), FOREVER - 1)


def drawn_refreshes(
    random: Random,
    readings: Mapping[int, WindowedAggregate | JoinedAggregate],
    pane_us: int,
    ran: QueryProgress | None,
) -> Refreshes:
    """Some of the queries, in batches."""
    known: dict[int, Refreshed] = {} if ran is None else ran.refreshed
    shown = {query: one.slide for query, one in known.items() if query in readings}
    batches: list[list[Refresh]] = [[], []]
    for number, reading in readings.items():
        if random.randrange(3):
            left, *right = (window.range_us for window in reading.reader.windows)
            random.choice(batches).append(Refresh(number, left, reading.reader.slide_us // pane_us, *right))
    return Refreshes(pane_us, tuple(tuple(batch) for batch in batches if batch), shown)


def test_refreshed_answers_are_those_of_sql_as_of_their_slides() -> None:
    assert sum(check(Random(f"refreshes {number}")) for number in range(SETS)) > SETS


def test_refreshed_answers_of_joins_are_those_of_sql_as_of_their_slides() -> None:
    sets = max(1, SETS // 3)
    assert sum(check_cells(Random(f"refreshed joins {number}")) for number in range(sets)) > sets


def test_nothing_is_stored_before_the_clock_has_begun() -> None:
    progress = QueryProgress(1, 0, 0, 0, clock=BEGINNING)
    refreshes = Refreshes(1, ((Refresh(1, 5, 1),),))
    assert refreshes_after(progress, None, refreshes, ()).refreshed == {}
