"""Sets of aggregates that share the cells of a join answer as SQL does over their windows.

Windows of both sides, slides, aggregates, conditions and columns differ from query to query. Tuples come late,
spans are cut anywhere, shards change their number, and queries come and go. PANES_CELL_SETS says how many sets are
drawn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.consolidate import AT, contents_at
from panes.delta.delta import BEGINNING, CAME, EXP, FOREVER, TS
from panes.plan import nodes
from panes.plan.windows import RangeWindow
from panes.sharing import pair_join, shared_cells
from panes.sharing.joined_aggregate import JoinedAggregate, joined_aggregate_of
from panes.sharing.shared_cells import SharedCells
from panes.sharing.shared_indexes import Members
from panes.sharing.store import Arrivals as Came
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalStage
from panes.stages.redistribute import Redistribution
from panes.stages.routing import Route
from panes.state.buffers.chunk import Chunk
from panes.synopses.join_cells import JoinCells
from panes.synopses.join_definition import JoinDefinition
from panes.synopses.synopsis_of import not_covered, synopsis_of
from panes.testing import Oracle, same_rows
from tests.properties.plans import Drawing
from tests.properties.running import connection, together
from tests.properties.streams import Arrivals
from tests.sharing.drawn_joins import Joined

SETS = int(os.environ.get("PANES_CELL_SETS", "8"))
NOBODY = Members()


@dataclass
class Shared:
    """The queries of one join at work, on some shards: what epochs and readers do, without Spark."""

    node: nodes.Node
    shards: int
    chunks: list[Mapping[str, list[Chunk]]] = field(init=False)

    def __post_init__(self) -> None:
        self.begin_anew(self.node)

    @property
    def stage(self) -> PhysicalStage:
        (stage,) = make_plan(self.node).stages
        return stage

    def begin_anew(self, node: nodes.Node) -> None:
        self.node = node
        self.chunks = [{} for _ in range(self.shards)]

    def advance(self, came: Mapping[str, pa.Table], since: int, clock: int, *, is_first: bool) -> None:
        parts = {}
        for source in self.stage.inputs:
            assert source.stream is not None
            run = FragmentRun(came[source.stream])
            computed, _ = run.input(source, BEGINNING if is_first else since)
            parts[source.name] = dict(Route(source, self.shards, None).split(computed))
        assert isinstance(self.node, nodes.JoinSynopsis)
        after = []
        for shard, chunks in enumerate(self.chunks):
            store = SharedCells(self.node, chunks)
            mine = {name: part[shard] for name, part in parts.items() if shard in part}
            store.advance(Came(mine, NOBODY, since, clock, is_first=is_first))
            after.append(store.chunks)
        self.chunks = after

    def reshard(self, shards: int) -> None:
        moving = Redistribution(self.stage, self.shards, shards)
        states = dict(enumerate(self.chunks))
        self.chunks = [moving.chunks(s, {o: states[o] for o in moving.sources(s)}) for s in range(shards)]
        self.shards = shards

    def answer(self, query: JoinedAggregate, instant: int) -> pa.Table:
        at = query.last_slide(instant)
        return query.answer(query.held_at(self.chunks, at), at)

    def changes(self, query: JoinedAggregate, since: int, clock: int) -> pa.Table:
        rows = [query.held_in(chunks, since, clock) for chunks in self.chunks]
        return query.changes(pa.concat_tables(rows), since, clock)


def drawn_queries(random: Random) -> list[nodes.Node]:
    """Some queries over one join, which may differ in all but the streams, what is asked of them, and the keys."""
    drawing = Drawing(random, has_tables=False)
    joined = Joined(random.choice((("s", "t"), ("t", "s"), ("s", "s"))), random.choice(("keys", "computed")))
    below = joined.query(random, (RangeWindow(1, 1),))
    while isinstance(below, nodes.Distinct):
        below = below.child
    keys = tuple(drawing.some(below.schema.names, 0, 2))
    drawn = [drawing.aggregate(below) for _ in range(4)]
    aggregates = [a for a in drawn if a is not None and a.function != "approx_top_k"]
    one = drawing.grouped(below)
    assert isinstance(one, nodes.GroupBy)
    plans = []
    unit = random.choice((1, 1, 2, 3))
    for _ in range(random.randint(2, 5)):
        slide = unit * random.choice((1, 1, 2, 3))
        ranges = [unit * random.randint(1, 9) for _ in range(2)]
        if random.randrange(3) == 0:
            ranges[1] = ranges[0]
        some = tuple(drawing.some(aggregates, 0, 2)) or (one.aggregates[0],)
        plan: nodes.Node = nodes.GroupBy(seen_through(below, ranges, slide), keys, some)
        match random.randrange(6):
            case 0:
                plan = drawing.select(plan)
            case 1:
                plan = drawing.project(plan)
            case 2 if not any(f.type.item for f in plan.schema):
                plan = drawing.first_rows(plan)
        plans.append(plan)
    return plans


def seen_through(node: nodes.Node, ranges: list[int], slide: int) -> nodes.Node:
    """The same join through other windows."""
    if isinstance(node, nodes.Join):
        left, right = (seen_through(side, [r], slide) for side, r in zip(node.children, ranges, strict=True))
        return replace(node, left=left, right=right)
    if isinstance(node, nodes.Window):
        return replace(node, spec=RangeWindow(ranges[0], slide))
    return nodes.with_children(node, *(seen_through(child, ranges, slide) for child in node.children))


def check(random: Random) -> int:
    """Runs a set of queries next to the oracle; gives how often cells were built anew."""
    plans = drawn_queries(random)
    arrivals = Arrivals.drawn(random, 40, 5).out_of_order(random)
    oracle = Oracle(arrivals.tables, connection())
    found = [joined_aggregate_of(plan) for plan in plans]
    readings = {number: reading for number, reading in enumerate(found) if reading is not None}
    begins = {number: random.choice((0, 0, 0, 1, 2)) for number in readings}
    ends = {number: random.choice((9, 9, 9, 2, 3)) for number in readings}
    shared: dict[object, Shared] = {}
    events: dict[int, list[pa.Table]] = {}
    rebuilt = 0
    for epoch, (came, since, clock) in enumerate(arrivals.spans()):
        here = {n: r for n, r in readings.items() if begins[n] <= epoch < ends[n]}
        sources = {reading.reader.source for reading in here.values()}
        for source in sources:
            mine = {n: r for n, r in here.items() if r.reader.source == source}
            readers = {n: reading.reader for n, reading in mine.items()}
            state = shared.get(source)
            if state is not None and random.randrange(4) == 0:
                state.reshard(random.choice((1, 2, 3)))
            if state is None or not_covered(state.node, readers):
                node = synopsis_of(list(readers.values()), "auto")
                if state is None:
                    state = shared[source] = Shared(node, random.choice((1, 2, 3)))
                else:
                    rebuilt += 1
                    state.begin_anew(node)
                state.advance(_history(arrivals, clock), since, clock, is_first=True)
            else:
                state.advance(came, since, clock, is_first=False)
            for number, reading in mine.items():
                _check_member(random, state, reading, oracle, events.setdefault(number, []), since, clock)
        for source in shared.keys() - sources:
            del shared[source]
    return rebuilt


def _check_member(
    random: Random,
    state: Shared,
    reading: JoinedAggregate,
    oracle: Oracle,
    known: list[pa.Table],
    since: int,
    clock: int,
) -> None:
    plan = reading.plan
    for instant in {clock, random.randint(max(since + 1, clock - 20), clock)}:
        difference = same_rows(state.answer(reading, instant), oracle.answer_at(plan, instant))
        assert difference is None, f"{plan} at {instant}: {difference}"
    changes = state.changes(reading, since if known else BEGINNING, clock)
    assert (changes.column(AT).to_numpy() <= clock).all()
    known.append(changes.rename_columns([TS if n == AT else n for n in changes.column_names]))
    told = together(known)
    told = told.append_column(EXP, pa.array(np.full(told.num_rows, FOREVER)))
    difference = same_rows(contents_at(told, clock), oracle.answer_at(plan, clock))
    assert difference is None, f"changes of {plan} up to {clock}: {difference}"


def _history(arrivals: Arrivals, clock: int) -> Mapping[str, pa.Table]:
    """All tuples that came up to the clock, with when they came."""
    return {
        name: rows.filter(pa.array(rows.column(CAME).to_numpy() <= clock))
        for name, rows in arrivals.streams.items()
    }


def test_sets_of_queries_answer_as_sql_does() -> None:
    rebuilt = sum(check(Random(f"cells {number}")) for number in range(SETS))
    assert rebuilt > 0, "some query must need more than those before it"


expire, window = JoinCells.expire, JoinCells.window


@dataclass(frozen=True)
class Mutation:
    bug: str
    owner: object
    name: str
    value: object
    first: int
    """The set that is tried first, because it shows the bug."""


MUTATIONS = [
    Mutation("cells leave too early", JoinCells, "expire", lambda s, at, _: expire(s, at, (2, 2)), 5),
    Mutation(
        "both go by the left window", JoinCells, "window", lambda s, at, w: window(s, at, (w[0], w[0])), 5
    ),
    Mutation(
        "late tuples show too early", pair_join, "first_seen", lambda rows, _: rows.column(TS).to_numpy(), 13
    ),
    Mutation("cells never grow", JoinDefinition, "covers", lambda *_: True, 155),
    Mutation("the right stream is never read", shared_cells, "SIDES", ("input-0", "input-0"), 0),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.bug)
def test_a_planted_bug_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation.owner, mutation.name, mutation.value)
    with pytest.raises((AssertionError, KeyError)):
        _check_some(mutation.first)


def _check_some(first: int) -> None:
    for number in range(first, first + 12):
        check(Random(f"cells {number}"))
