"""Queries of the corpus go on with another number of shards as if nothing had happened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from random import Random

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.language import statements as st
from panes.sharing.selection_store import SelectionStore
from panes.stages.make_plan import make_plan
from panes.stages.redistribute import Redistribution
from panes.testing import same_rows
from tests.language.corpus import read_catalog
from tests.language.test_meaning import value
from tests.properties.running import history, together
from tests.properties.shards import Shards
from tests.sharing.drawn import MATCHED, rows
from tests.sharing.test_selection_store import drawn_member, index_of
from tests.stages.corpus_plans import PLANS, RUNS

SECOND = 1_000_000
CLOCKS = [45 * SECOND, 90 * SECOND, 150 * SECOND, 400 * SECOND]
NUMBERS = [2, 5, 1, 3]
"""The shards in each epoch."""


def drawn_streams() -> Mapping[str, pa.Table]:
    chance = Random(3)
    streams = [thing for thing in read_catalog().things.values() if isinstance(thing, st.CreateStream)]
    found = {}
    for stream in streams:
        times = sorted(chance.choice([1, 1, 2, 3, 5]) * chance.randrange(60) * SECOND // 2 for _ in range(60))
        columns = {f.name: [value(f.type, chance) for _ in times] for f in stream.columns}
        schema = pa.schema([*stream.columns.arrow, (TS, pa.int64())])
        found[stream.name] = pa.table({**columns, TS: times}, schema=schema)
    return found


def drawn_tables() -> Mapping[str, pa.Table]:
    """Changes of tables: rows that were always there, and after each epoch one that goes and one that comes."""
    chance = Random(4)
    tables = [thing for thing in read_catalog().things.values() if isinstance(thing, st.CreateTable)]
    found = {}
    for table in tables:
        rows = [{f.name: value(f.type, chance) for f in table.columns} for _ in range(12)]
        changes = [{**row, TS: ALWAYS, EXP: FOREVER, WEIGHT: 1} for row in rows[:8]]
        for number, clock in enumerate(CLOCKS[:-1]):
            for row, weight in ((rows[number], -1), (rows[8 + number], 1)):
                changes.append({**row, TS: clock + 1, EXP: FOREVER, WEIGHT: weight})
        hidden = [(name, pa.int64()) for name in (TS, EXP, WEIGHT)]
        found[table.name] = pa.Table.from_pylist(changes, schema=pa.schema([*table.columns.arrow, *hidden]))
    return found


STREAMS = drawn_streams()
TABLES = drawn_tables()


def arrivals(since: int, clock: int) -> Mapping[str, pa.Table]:
    found = {}
    for name, whole in (*STREAMS.items(), *TABLES.items()):
        ts = whole.column(TS).to_numpy()
        found[name] = whole.filter(pa.array((ts > since) & (ts <= clock)))
    return found


ONE_IN = int(os.environ.get("PANES_CORPUS_ONE_IN", "6"))
"""Which part of the corpus is run; the properties draw other plans to rescale."""


def one_way_each() -> list[tuple[str, str]]:
    """Some queries under one of the strategies that can run them, each strategy about equally often."""
    ways = {name: [way for other, way in RUNS if other == name] for name in PLANS}
    return [(name, ways[name][number % len(ways[name])]) for number, name in enumerate(PLANS)][::ONE_IN]


@pytest.mark.parametrize(("name", "strategy"), one_way_each())
def test_a_query_goes_on_with_another_number_of_shards(name: str, strategy: str) -> None:
    still = Shards.of(PLANS[name], 1, strategy=strategy)
    moved = Shards.of(PLANS[name], NUMBERS[0], strategy=strategy)
    told: tuple[list[pa.Table], list[pa.Table]] = ([], [])
    since = BEGINNING
    for clock, shards in zip(CLOCKS, NUMBERS, strict=True):
        if since > BEGINNING:
            moved = moved.redistributed(shards, since)
        came = arrivals(since, clock)
        told[0].append(still.process(came, since, clock))
        told[1].append(moved.process(came, since, clock))
        read = moved.answer(clock)
        # What an answer is only sorted by is in its state, and is not read.
        answer = contents_at(together(told[0]), clock).select(read.column_names)
        assert same_rows(read, answer) is None, f"at {clock}"
        since = clock
    assert history(told[1], CLOCKS[-1]) == history(told[0], CLOCKS[-1])


@pytest.mark.parametrize("new", [1, 2, 5])
def test_selections_keep_their_tuples_on_another_number_of_shards(new: int) -> None:
    random = Random(8)
    members = {query: drawn_member(random, 0) for query in range(20)}
    index, old = index_of(members), 3
    stores = [SelectionStore() for _ in range(old)]
    for since in (0, 20, 40):
        for store in stores:
            store.add(rows(random, 30, since=since, clock=since + 20), index, since)
    moving = Redistribution(make_plan(MATCHED).stages[0], old, new)
    states = {shard: store.chunks for shard, store in enumerate(stores)}
    moved = [
        SelectionStore(moving.chunks(shard, {source: states[source] for source in moving.sources(shard)}))
        for shard in range(new)
    ]
    came = rows(random, 30, since=60, clock=80)
    stores[0].add(came, index, 60)
    moved[-1].add(came, index, 60)
    for query, member in members.items():
        expected = [store.answer(query, member.reading, 80) for store in stores]
        found = [store.answer(query, member.reading, 80) for store in moved]
        assert same_rows(pa.concat_tables(found), pa.concat_tables(expected)) is None
