"""What a join is answered from the store is what SQL gives over its windows, for queries that come and go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from random import Random

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import AT
from panes.delta.delta import BEGINNING, TS, WEIGHT
from panes.delta.evaluate import evaluate
from panes.delta.hashing import hash_rows
from panes.history.retention import Retained, held_by
from panes.plan.nodes import Join, Matched, Node, Project
from panes.sharing.distinct_rows import distinct_changes, distinct_rows
from panes.sharing.named_rows import named_rows
from panes.sharing.pair_reading import PairReading, pair_reading_of
from panes.sharing.pair_store import Kept, PairStore
from panes.sharing.query_index import QueryIndex
from panes.testing import Oracle, counted, same_rows
from tests.properties.running import connection
from tests.properties.streams import Arrivals
from tests.sharing.drawn import drawn
from tests.sharing.drawn_joins import Joined

CASES = int(os.environ.get("PANES_JOIN_CASES", "20"))
"""Sets of queries that are drawn."""


@dataclass(frozen=True)
class Member:
    plan: Node
    reading: PairReading
    born: int


@dataclass
class Shared:
    """Queries that share one join, on several shards."""

    join: Join
    shards: int
    retain: Retained
    """What the streams keep whatever the queries need."""
    members: dict[int, Member] = field(default_factory=dict)
    stores: list[PairStore] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = [PairStore(self.join) for _ in range(self.shards)]

    def run(self, came: Mapping[str, pa.Table], since: int, new: Mapping[int, Member]) -> None:
        """An epoch, in which some queries begin."""
        self.members |= new
        index, fresh = index_of(self.members), index_of(new)
        kept = self._kept()
        sides = [self._routed(side, came) for side in (self.join.left, self.join.right)]
        for shard, store in enumerate(self.stores):
            if new and since > BEGINNING:
                store.reach_back(since, kept)
                store.admit(fresh, index.queries, kept)
            store.add(sides[0][shard], sides[1][shard], index, since, kept)
            store.expire(since, kept)

    def _routed(self, side: Node, came: Mapping[str, pa.Table]) -> list[pa.Table]:
        scan = side.child if isinstance(side, Project) else side
        rows = named_rows(scan, came[scan.stream])
        if isinstance(side, Project):
            columns = {name: evaluate(e, rows) for name, e in side.columns}
            rows = pa.table({**columns, TS: rows.column(TS)})
        keys = self.join.left_keys if side is self.join.left else self.join.right_keys
        shard = hash_rows(rows, keys) % np.uint64(self.shards)
        return [rows.filter(pa.array(shard == number)) for number in range(self.shards)]

    def _kept(self) -> tuple[Kept, Kept]:
        readings = [member.reading for member in self.members.values()]
        needed = [
            reduce(Retained.__or__, (held_by(r.windows[n]) for r in readings), Retained()) for n in (0, 1)
        ]
        return Kept(needed[0], needed[0] | self.retain), Kept(needed[1], needed[1] | self.retain)

    def restart(self) -> None:
        self.stores = [PairStore(self.join, store.chunks) for store in self.stores]

    def answer(self, query: int, now: int) -> pa.Table:
        reading = self.members[query].reading
        whole = pa.concat_tables([store.pairs.answer(query, reading, now) for store in self.stores])
        return distinct_rows(whole.combine_chunks()) if reading.is_distinct else whole

    def changes(self, query: int, since: int, clock: int) -> pa.Table:
        reading = self.members[query].reading
        found = [s.pairs.changes(query, reading, since, clock, born=BEGINNING) for s in self.stores]
        whole = pa.concat_tables(found).combine_chunks()
        if not reading.is_distinct:
            return whole
        before = [store.pairs.answer(query, reading, since) for store in self.stores]
        return distinct_changes(pa.concat_tables(before).combine_chunks(), whole)


def index_of(members: Mapping[int, Member]) -> QueryIndex:
    joins = {member.reading.join for member in members.values()}
    assert len(joins) <= 1, "queries that share a join have one"
    matched = Matched(joins.pop()) if joins else Matched(JOIN)
    return QueryIndex.of(matched, {query: member.reading.predicate for query, member in members.items()})


def reading_of(plan: Node) -> PairReading:
    found = pair_reading_of(plan)
    assert found is not None
    return found


JOIN = reading_of(Joined(("s", "t"), "keys").query(Random(0))).join


@drawn(CASES)
def test_joins_are_answered_as_sql_does_while_queries_come_and_go(random: Random) -> None:
    arrivals = Arrivals.drawn(random, 40, 5)
    if random.random() < 0.6:
        arrivals = arrivals.out_of_order(random)
    joined = Joined.drawn(random)
    retain = Retained(random.choice((None, None, 60, 1000)))
    store = Shared(reading_of(joined.query(random)).join, random.choice((1, 1, 3)), retain)
    oracle = Oracle(arrivals.streams, connection())
    for number, (came, since, clock) in enumerate(arrivals.spans()):
        new = drawn_members(random, joined, number, since)
        for query in random.sample(list(store.members), min(len(store.members), random.choice((0, 0, 1, 2)))):
            del store.members[query]
        store.run(came, since, new)
        if random.random() < 0.3:
            store.restart()
        for query in random.sample(list(store.members), min(2, len(store.members))):
            check(random, store, oracle, query, since, clock)


def drawn_members(random: Random, joined: Joined, epoch: int, since: int) -> dict[int, Member]:
    plans = [joined.query(random) for _ in range(random.randint(0 if epoch else 1, 3))]
    return {100 * epoch + n: Member(plan, reading_of(plan), since) for n, plan in enumerate(plans)}


def check(random: Random, store: Shared, oracle: Oracle, query: int, since: int, clock: int) -> None:
    member = store.members[query]
    difference = same_rows(store.answer(query, clock), oracle.answer_at(member.plan, clock))
    assert difference is None, f"{member.plan} at {clock}: {difference}"
    begin = max(since, clock - 25)
    changes = store.changes(query, begin, clock)
    contents = counted(oracle.answer_at(member.plan, begin))
    at = changes.column(AT).to_numpy()
    instants = {random.randint(begin + 1, clock), clock}
    for now in range(begin + 1, clock + 1):
        mine = changes.filter(pa.array(at == now))
        for weight in (1, -1):
            part = mine.filter(pa.array(mine.column(WEIGHT).to_numpy() == weight)).drop_columns([AT, WEIGHT])
            contents.update({row: weight * count for row, count in counted(part).items()})
        if now in instants:
            assert +contents == counted(oracle.answer_at(member.plan, now)), f"{member.plan} at {now}"
