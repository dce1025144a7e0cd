"""Sets of aggregates that share synopses answer as SQL does over their windows, at clocks and between them.

Windows, slides, aggregates, conditions and columns differ from query to query. Tuples come late, spans are cut
anywhere, shards change their number, and queries come and go. PANES_SYNOPSIS_SETS says how many sets are drawn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import AT, contents_at
from panes.delta.delta import BEGINNING, CAME, EXP, FOREVER, TS
from panes.plan import nodes
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow
from panes.sharing.index_slice import IndexSlice
from panes.sharing.query_index import SliceKey
from panes.sharing.shared_indexes import Members, Slices
from panes.sharing.shared_synopsis import SharedSynopsis
from panes.sharing.store import Arrivals as Came
from panes.sharing.stream_indexes import StreamIndexes
from panes.sharing.windowed_aggregate import WindowedAggregate, windowed_aggregate_of
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalStage
from panes.stages.redistribute import Redistribution
from panes.stages.routing import Route
from panes.state.buffers.chunk import Chunk
from panes.synopses.definition import Definition, SynopsisSource
from panes.testing import Oracle, same_rows
from tests.properties.plans import Drawing
from tests.properties.running import connection, together
from tests.properties.streams import Arrivals

SETS = int(os.environ.get("PANES_SYNOPSIS_SETS", "8"))
NOBODY = Members()


@dataclass
class Shared:
    """The queries of one synopsis at work, on some shards: what epochs and readers do, without Spark."""

    random: Random
    node: nodes.Synopsis
    source: SynopsisSource
    shards: int
    chunks: list[Mapping[str, list[Chunk]]] = field(init=False)
    rebuilt: int = 0

    def __post_init__(self) -> None:
        self.begin_anew(self.node)

    @property
    def stage(self) -> PhysicalStage:
        (stage,) = make_plan(self.node).stages
        return stage

    @property
    def count(self) -> int:
        return self.shards if self.stage.is_sharded else 1

    def begin_anew(self, node: nodes.Synopsis) -> None:
        self.node = node
        self.chunks = [{} for _ in range(self.count)]

    def advance(self, rows: pa.Table, since: int, clock: int, *, is_first: bool) -> None:
        stage = self.stage
        (source,) = stage.inputs
        route = Route(source, self.count, None if stage.is_sharded else 0)
        computed, _ = FragmentRun(rows).input(source, BEGINNING if is_first else since, slices_of(self.node))
        mine = dict(route.split(computed))
        after = []
        for shard, chunks in enumerate(self.chunks):
            store = SharedSynopsis(self.node, chunks)
            came = {source.name: mine[shard]} if shard in mine else {}
            store.advance(Came(came, NOBODY, since, clock, is_first=is_first))
            after.append(store.chunks)
        self.chunks = after

    def reshard(self, shards: int) -> None:
        if not self.stage.is_sharded:
            return
        moving = Redistribution(self.stage, self.shards, shards)
        states = dict(enumerate(self.chunks))
        self.chunks = [moving.chunks(s, {o: states[o] for o in moving.sources(s)}) for s in range(shards)]
        self.shards = shards

    def answer(self, query: WindowedAggregate, instant: int) -> pa.Table:
        window = query.reader.window
        at = window.last_slide(instant)
        return query.answer(query.held_at(self.chunks, at), at)

    def changes(self, query: WindowedAggregate, since: int, clock: int) -> pa.Table:
        rows = [query.held_in(chunks, since, clock) for chunks in self.chunks]
        return query.changes(pa.concat_tables(rows), since, clock)


def slices_of(node: nodes.Synopsis) -> Slices:
    """The selections by which a synopsis tells tuples apart, in an index of their own."""
    signed = [found for found in walk(node) if isinstance(found, nodes.Signed)]
    slices = {SliceKey(0, number): IndexSlice.of_signed(found) for number, found in enumerate(signed)}
    return tuple(StreamIndexes().update(slices).values())


def drawn_queries(random: Random) -> list[nodes.Node]:
    """Some queries over one stream, which may differ in all but the stream and the keys."""
    drawing = Drawing(random, has_tables=False)
    stream = drawing.stream()
    if random.randrange(3) == 0:
        stream = drawing.project(stream)
    keys = tuple(drawing.some(stream.schema.names, 0, 2))
    drawn = [drawing.aggregate(stream) for _ in range(4)]
    aggregates = [a for a in drawn if a is not None and a.function != "approx_top_k"]
    if random.randrange(2):  # what can be kept in any form
        aggregates = [a for a in aggregates if a.function in ("count", "sum", "avg") and not a.distinct]
    one = drawing.grouped(stream)
    assert isinstance(one, nodes.GroupBy)
    count = one.aggregates[0]
    plans = []
    choices = Random(repr(stream))
    predicates = [Drawing(choices, has_tables=False).predicate(stream) for _ in range(3)]
    unit = random.choice((1, 1, 2, 3))
    for _ in range(random.randint(1, 5)):
        window = RangeWindow(unit * random.randint(1, 9), unit * random.choice((1, 1, 2, 3)))
        some = tuple(drawing.some(aggregates, 0, 2)) or (count,)
        selected = nodes.Select(stream, choices.choice(predicates)) if choices.randrange(3) else stream
        plan: nodes.Node = nodes.GroupBy(nodes.Window(selected, window), keys, some)
        match random.randrange(6):
            case 0:
                plan = drawing.select(plan)
            case 1:
                plan = drawing.project(plan)
            case 2 if not any(f.type.item for f in plan.schema):
                plan = drawing.first_rows(plan)
        plans.append(plan)
    return plans


def check(random: Random) -> int:
    """Runs a set of queries next to the oracle; gives how often a synopsis was built anew."""
    plans = drawn_queries(random)
    arrivals = Arrivals.drawn(random, 40, 5).out_of_order(random)
    oracle = Oracle(arrivals.tables, connection())
    readings = [windowed_aggregate_of(plan) for plan in plans]
    form = random.choice(("auto", "running", "interval", "basic"))
    begins = {number: random.choice((0, 0, 0, 1, 2)) for number in range(len(plans))}
    ends = {number: random.choice((9, 9, 9, 2, 3)) for number in range(len(plans))}
    shared: dict[SynopsisSource, Shared] = {}
    events: dict[int, list[pa.Table]] = {}
    read: dict[int, WindowedAggregate] = {}
    rebuilt = 0
    for epoch, (came, since, clock) in enumerate(arrivals.spans()):
        here = {n: r for n, r in enumerate(readings) if r is not None and begins[n] <= epoch < ends[n]}
        for source in {reading.reader.source for reading in here.values()}:
            mine = {n: r for n, r in here.items() if r.reader.source == source}
            rows = came[source.scan.stream]
            readers = [reading.reader for reading in mine.values()]
            state = shared.get(source)
            if state is not None and random.randrange(4) == 0:
                state.reshard(random.choice((1, 2, 3)))
            runs = None if state is None else Definition.from_node(state.node, source)
            if state is None or runs is None or not all(runs.covers(reader) for reader in readers):
                node = Definition.of(readers, runs).node(form, len(readers))
                if state is None:
                    state = shared[source] = Shared(random, node, source, random.choice((1, 2, 3)))
                else:
                    rebuilt += 1
                    state.begin_anew(node)
                state.advance(_history(arrivals, source.scan.stream, clock), since, clock, is_first=True)
            else:
                state.advance(rows, since, clock, is_first=False)
            for number, reading in mine.items():
                read.setdefault(number, reading.over(state.node))
            _check_members(
                random, state, {number: read[number] for number in mine}, plans, oracle, events, since, clock
            )
        for source in shared.keys() - {reading.reader.source for reading in here.values()}:
            del shared[source]
    return rebuilt


def _check_members(
    random: Random,
    state: Shared,
    mine: Mapping[int, WindowedAggregate],
    plans: list[nodes.Node],
    oracle: Oracle,
    events: dict[int, list[pa.Table]],
    since: int,
    clock: int,
) -> None:
    for number, reading in mine.items():
        first = max(since + 1, clock - 20)
        for instant in {clock, random.randint(first, clock)}:
            expected = oracle.answer_at(plans[number], instant)
            difference = same_rows(state.answer(reading, instant), expected)
            assert difference is None, f"{state.node.form}: {plans[number]} at {instant}: {difference}"
        known = events.setdefault(number, [])
        changes = state.changes(reading, since if known else BEGINNING, clock)
        assert (changes.column(AT).to_numpy() <= clock).all()
        known.append(changes.rename_columns([TS if n == AT else n for n in changes.column_names]))
        told = together(known)
        told = told.append_column(EXP, pa.array(np.full(told.num_rows, FOREVER)))
        difference = same_rows(contents_at(told, clock), oracle.answer_at(plans[number], clock))
        assert difference is None, f"changes of {plans[number]} up to {clock}: {difference}"


def _history(arrivals: Arrivals, stream: str, clock: int) -> pa.Table:
    """All tuples that came up to the clock, with when they came."""
    rows = arrivals.streams[stream]
    return rows.filter(pa.array(rows.column(CAME).to_numpy() <= clock))


def test_sets_of_queries_answer_as_sql_does() -> None:
    rebuilt = sum(check(Random(f"synopses {number}")) for number in range(SETS))
    assert rebuilt > 0, "some query must need more than those before it"
