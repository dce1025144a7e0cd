"""The answers of joins that share their streams: the tuples of both, the pairs that they make, and whose they are.

A tuple enters the join once, whatever the number of queries, and a pair is kept once, with a bit for each query
that it is for. Windows, projections and DISTINCT are applied when a query is invoked.

Which queries a pair is for is found when it is written: by an AND of the rows of bits of what its left tuple, its
right tuple and both together pass. A pair that is for nobody is dropped. Tuples are kept unmarked, also those that
no query wants now: a query that comes later finds the pairs of the past by joining what is kept, for itself alone.
So queries may come and go, and ask for longer windows than those before, without the history being read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, Instants
from panes.delta.keys import group_rows
from panes.delta.rows import concat, int64, take, where, with_column, without
from panes.history.retention import Retained
from panes.plan import nodes
from panes.plan.patterns import Pattern
from panes.sharing.bits import Flags, Ints
from panes.sharing.index_slice import IndexSlice
from panes.sharing.matched_blocks import MatchedBlocks
from panes.sharing.pair_join import SIDES, PairJoin
from panes.sharing.shared_indexes import Kept
from panes.sharing.store import Arrivals
from panes.sharing.tuple_block import LEFT_TS, RIGHT_TS, SEEN
from panes.state.buffers.choose import choose_buffer
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import ChunkedBuffer, rank_within
from panes.state.storage.manifest import ANSWER


class PairStore:
    """The tuples of two streams, and the pairs of them that queries have.

    State: for each stream the tuples that the longest window of a query may hold, by key, and apart from them the
        older ones that the stream keeps; the pairs that are for some query, in the order of their earlier tuple,
        with the times of both tuples and a bit per query.
    Cost: of a new tuple, a probe and the bits of its pairs; of new queries, one join of the tuples that they want;
        of an answer, the bitmap of its query over the blocks that its windows touch, and the pairs of the answer.
    """

    def __init__(self, join: nodes.Join, chunks: Mapping[str, Sequence[Chunk]] | None = None) -> None:
        chunks = chunks or {}
        self._join = PairJoin(join)
        self.pairs = MatchedBlocks(chunks)
        self._sides = _Side(self._join, 0, join.left_keys), _Side(self._join, 1, join.right_keys)
        for name, buffer in self._buffers.items():
            buffer.restore(chunks.get(name, ()))

    @property
    def chunks(self) -> dict[str, list[Chunk]]:
        """What to keep, by buffer."""
        return {name: list(buffer.chunks) for name, buffer in self._buffers.items()} | self.pairs.chunks

    @property
    def rows(self) -> int:
        """The pairs that are kept."""
        return self.pairs.rows

    @property
    def _buffers(self) -> dict[str, ChunkedBuffer]:
        return dict(zip(BUFFERS, (buffer for side in self._sides for buffer in side.buffers), strict=True))

    def advance(self, arrivals: Arrivals) -> None:
        """Takes in the queries and the tuples of an epoch, and forgets what no query needs any more."""
        members, (left, right) = arrivals.members, SIDES
        kept = members.kept[0], members.kept[1]
        if not arrivals.is_first and members.fresh is not None:
            self.reach_back(arrivals.since, kept)
            self.admit(members.fresh[0].value, members.all[0].value.queries, kept)
        rows = arrivals.rows
        self.add(rows.get(left), rows.get(right), members.all[0].value, arrivals.seen_since, kept)
        self.expire(arrivals.since, kept)

    def reach_back(self, since: int, kept: tuple[Kept, Kept]) -> None:
        """Takes up again the older tuples that the windows of new queries hold; to be called before these are
        admitted."""
        for side, mine in zip(self._sides, kept, strict=True):
            side.reach_back(_too_old(mine.members, since))

    def admit(self, index: IndexSlice, queries: Ints, kept: tuple[Kept, Kept]) -> None:
        """Finds the pairs of new queries, among those that are there and among tuples whose pairs were for nobody;
        the index holds only those queries, `queries` are all."""
        left, right = (side.wanted(side.held(), index)[0] for side in self._sides)
        found = self._pairs_of(PairJoin(self._join.node), left, right, index, kept)
        known = [part for part in self.pairs.admitted(index) if part.num_rows]
        self.pairs.append(_without_those(found, known), index, queries)

    def add(
        self,
        left: pa.Table | None,
        right: pa.Table | None,
        index: IndexSlice,
        since: int,
        kept: tuple[Kept, Kept],
    ) -> None:
        """Takes in the tuples of an epoch whose span begins after `since`, for all queries of the index.

        A tuple of an earlier time came late, and is seen from then on. Those of the history, which say when they
        came, are added with `since=BEGINNING`.
        """
        wanted, others = [], []
        for side, rows in zip(self._sides, (left, right), strict=True):
            some, rest = side.wanted(side.taken_in(rows, since), index)
            wanted.append(some)
            others.append(rest)
        pairs = self._pairs_of(self._join, wanted[0], wanted[1], index, kept)
        for side, rest in zip(self._sides, others, strict=True):
            side.insert(rest)
        self.pairs.append(pairs, index)

    def expire(self, since: int, kept: tuple[Kept, Kept]) -> None:
        """Forgets tuples and pairs that nobody may want after `since`."""
        for side, mine in zip(self._sides, kept, strict=True):
            side.expire(_too_old(mine.members, since), _too_old(mine.all, since))
        left, right = (_too_old(mine.members, since) for mine in kept)
        self.pairs.keep(lambda block: block.latest(LEFT_TS) > left and block.latest(RIGHT_TS) > right)

    def _pairs_of(
        self,
        join: PairJoin,
        left: pa.Table,
        right: pa.Table,
        index: IndexSlice,
        kept: tuple[Kept, Kept],
    ) -> pa.Table:
        """The pairs that new tuples of a join make, those that some query of the index has at some instant."""
        rows = join.pairs(left, right)
        left_ts, right_ts, seen = (int64(rows, name) for name in (LEFT_TS, RIGHT_TS, SEEN))
        leaves = np.minimum(_leaves(left_ts, kept[0].members), _leaves(right_ts, kept[1].members))
        rows = take(rows, where(seen < leaves))
        return take(rows, where(index.match(rows).is_for_any))


BUFFERS = tuple(f"{ANSWER}.{name}" for name in ("left", "left_before", "right", "right_before"))
"""The buffers of the tuples of each side: those that windows of queries may hold, and older ones."""


class _Side:
    """The tuples of one stream: those that windows of queries may hold, and older ones."""

    def __init__(self, join: PairJoin, number: int, keys: Sequence[str]) -> None:
        self.node = join.node.children[number]
        self.young = join.buffers[number]
        self.old = choose_buffer(Pattern.WEAKEST, "upa", keys)
        self._join = join
        self._number = number

    @property
    def buffers(self) -> tuple[ChunkedBuffer, ChunkedBuffer]:
        return self.young, self.old

    @property
    def _limit(self) -> int:
        """The time up to which tuples are old. What lies in the young buffer of these times is a copy, not yet
        cleared away."""
        return max((chunk.high for chunk in self.old.chunks), default=BEGINNING)

    def taken_in(self, rows: pa.Table | None, since: int) -> pa.Table:
        """New tuples as they are kept; those of an old time are put with the old ones."""
        table = self._join.tuples(self._number, rows, since)
        is_old = int64(table, EXP) <= self._limit
        if is_old.any():
            self.old.insert(without(take(table, where(is_old)), TS))
            table = take(table, where(~is_old))
        return table

    def held(self) -> pa.Table:
        """The tuples that windows may hold."""
        if not self.young.chunks:
            return self._join.no_tuples(self._number)
        rows = self.young.live(self._limit)
        return with_column(rows, TS, np.full(rows.num_rows, BEGINNING))

    def wanted(self, rows: pa.Table, index: IndexSlice) -> tuple[pa.Table, pa.Table]:
        """The rows that some query may want, as far as this side is concerned, and the others."""
        passes = index.over(frozenset(self.node.schema.names)).match(rows).is_for_any
        return take(rows, where(passes)), take(rows, where(~passes))

    def insert(self, rows: pa.Table) -> None:
        self.young.insert(without(rows, TS))

    def reach_back(self, limit: int) -> None:
        """Makes young again what is old but later than a limit."""
        before = self._limit
        if limit >= before:
            return
        young = self.young.live(before) if self.young.chunks else None
        old = self.old.live(BEGINNING)
        is_young = int64(old, EXP) > limit
        back = take(old, where(is_young))
        for buffer, rows in (
            (self.young, back if young is None else concat([young, back])),
            (self.old, take(old, where(~is_young))),
        ):
            buffer.restore(())
            buffer.insert(rows)

    def expire(self, limit: int, oldest: int) -> None:
        """Makes old what is not later than a limit, and forgets what is not later than another."""
        gone = self.young.expire_clustered(limit, self._limit)
        if gone.num_rows:
            self.old.insert(take(gone, where(int64(gone, EXP) > oldest)))
        self.old.forget(oldest)


def _too_old(retained: Retained, since: int) -> int:
    """The latest time that is not kept. Snapshots of other queries are left out: they keep tuples for ever."""
    oldest = replace(retained, spans=_landmarks(retained)).oldest_ts(since)
    return oldest if oldest == BEGINNING else oldest - 1


def _landmarks(retained: Retained) -> tuple[tuple[int, int], ...]:
    return tuple(span for span in retained.spans if span[1] == FOREVER)


def _leaves(ts: Instants, retained: Retained) -> Instants:
    """The instants from which on no window holds the tuples of these times."""
    if retained.us is None:
        return np.full(len(ts), FOREVER)
    leaves = ts + retained.us
    for begin, _ in _landmarks(retained):
        leaves = np.where(ts >= begin, FOREVER, leaves)
    return leaves


def _without_those(rows: pa.Table, known: Sequence[pa.Table]) -> pa.Table:
    """The rows that are not among known ones: of equal rows as many as there are more of."""
    if not known or not rows.num_rows:
        return rows
    there = concat([part.select(rows.column_names) for part in known])
    codes = group_rows(concat([rows, there]), rows.column_names).codes
    asked, held = codes[: rows.num_rows], codes[rows.num_rows :]
    is_new: Flags = rank_within(asked) >= np.bincount(held, minlength=int(codes.max()) + 1)[asked]
    return take(rows, where(is_new))
