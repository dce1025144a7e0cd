"""Joins that share a pair store, on several shards in one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa

from panes.delta.delta import BEGINNING, TS
from panes.delta.evaluate import evaluate
from panes.delta.hashing import hash_rows
from panes.history.retention import Retained, held_by
from panes.plan.nodes import Join, MatchedPairs, Node, Project, StreamScan
from panes.sharing.distinct_rows import distinct_changes, distinct_rows
from panes.sharing.index_slice import IndexSlice
from panes.sharing.named_rows import named_rows
from panes.sharing.pair_reading import PairReading, pair_reading_of
from panes.sharing.pair_store import PairStore
from panes.sharing.shared_indexes import Kept
from panes.stages.make_plan import make_plan
from panes.stages.redistribute import Redistribution
from panes.stages.routing import shards_of


@dataclass(frozen=True)
class Member:
    plan: Node
    reading: PairReading

    @classmethod
    def of(cls, plan: Node) -> Member:
        return cls(plan, reading_of(plan))


@dataclass
class SharedPairs:
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
        index, fresh = self._index(self.members), self._index(new)
        kept = self._kept()
        sides = [self._routed(side, came) for side in (self.join.left, self.join.right)]
        for shard, store in enumerate(self.stores):
            if new and since > BEGINNING:
                store.reach_back(since, kept)
                store.admit(fresh, index.queries, kept)
            store.add(sides[0][shard], sides[1][shard], index, since, kept)
            store.expire(since, kept)

    def _index(self, members: Mapping[int, Member]) -> IndexSlice:
        assert all(member.reading.join == self.join for member in members.values())
        predicates = {query: member.reading.predicate for query, member in members.items()}
        return IndexSlice.of(MatchedPairs(self.join), predicates)

    def _routed(self, side: Node, came: Mapping[str, pa.Table]) -> list[pa.Table]:
        scan = side.child if isinstance(side, Project) else side
        assert isinstance(scan, StreamScan)
        rows = named_rows(scan, came[scan.stream])
        if isinstance(side, Project):
            columns = {name: evaluate(e, rows) for name, e in side.columns}
            rows = pa.table({**columns, TS: rows.column(TS)})
        keys = self.join.left_keys if side is self.join.left else self.join.right_keys
        if not keys:
            return [rows]
        shard = shards_of(hash_rows(rows, keys), self.shards)
        return [rows.filter(pa.array(shard == number)) for number in range(self.shards)]

    def _kept(self) -> tuple[Kept, Kept]:
        readings = [member.reading for member in self.members.values()]
        needed = [
            reduce(Retained.__or__, (held_by(r.windows[n]) for r in readings), Retained()) for n in (0, 1)
        ]
        return Kept(needed[0], needed[0] | self.retain), Kept(needed[1], needed[1] | self.retain)

    def spread(self, shards: int) -> None:
        """Goes on with another number of shards."""
        moving = Redistribution(make_plan(MatchedPairs(self.join)).stages[0], self.shards, shards)
        states = {shard: store.chunks for shard, store in enumerate(self.stores)}
        chunks = (
            moving.chunks(shard, {source: states[source] for source in moving.sources(shard)})
            for shard in range(shards)
        )
        self.shards, self.stores = shards, [PairStore(self.join, mine) for mine in chunks]

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


def reading_of(plan: Node) -> PairReading:
    found = pair_reading_of(plan)
    assert found is not None
    return found
