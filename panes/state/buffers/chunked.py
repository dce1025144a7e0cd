"""What all buffers of chunks share: clustering by key, probing, expiry, and merging of small chunks.

A chunk of a buffer with keys is sorted by the hash of the key, so a probe is a binary search per chunk. The sort
key of the log is `_exp`: a chunk knows the first and the last instant at which any of its rows leaves.

Expiry drops chunks whose rows are all dead. In a chunk that straddles the instant the rows that leave are found by
their order of leaving (`expiry_order.py`). It is rewritten only when enough of it is dead (`lazy_expiration.py`):
by default half, so that the rows moved never exceed the rows removed. Until then its dead rows lie in it, and
every reader must look at `_exp` (`probe` may return them, `live` and `expire` do not).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, TS, WEIGHT
from panes.delta.grouped import are_first, starts_of
from panes.delta.hashing import HASH, hash_rows, sorted_hashes
from panes.delta.keys import equal_rows, group_rows, is_hash_exact
from panes.delta.rows import (
    Positions,
    concat,
    from_fixed_width,
    int64,
    take,
    take_and_set,
    where,
    with_column,
    without,
)
from panes.state.buffers.base import Buffer
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.expiry_order import ExpiryOrder, order_of
from panes.state.buffers.hash_search import HashSearch, find, hashes_of
from panes.state.buffers.lazy_expiration import DEFAULT
from panes.state.log import MergePolicy

Combine = Callable[[pa.Table, Positions], pa.Table]
"""What a merge makes of the rows of several chunks, in the order given: fewer rows of the same meaning."""

Match = tuple[Positions, pa.Table, Positions]
"""Positions in the needles, a table of stored rows, and the positions in it that they match."""

POLICY = MergePolicy(fan_in=4, smallest=1024)

_FEW_MATCHES = 20_000


def cluster(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows sorted by the hash of their key, which becomes a column. A clustered table stays as it is."""
    if HASH in table.column_names:
        return table
    order, hashes = sorted_hashes(hash_rows(table, keys))
    return take(table, order).append_column(HASH, from_fixed_width(hashes, pa.uint64()))


def sum_weights(table: pa.Table, order: Positions | None = None) -> pa.Table:
    """Equal rows as one row of their summed weight; rows whose weights cancel out are gone. Rows keep their
    order, or have the one given, which is that of their hashes where they have any."""
    if order is None:
        order = np.arange(table.num_rows)
    places = np.arange(len(order))
    if HASH in table.column_names:
        hashes = hashes_of(table)[order]
        again = hashes[1:] == hashes[:-1]
        places = np.flatnonzero(np.append(again, False) | np.append(False, again))
    if not len(places):
        return take(table, order)
    same = [name for name in table.column_names if name not in (WEIGHT, HASH)]
    groups = group_rows(take(table, order[places], same), same)
    weight = int64(table, WEIGHT)[order]
    total = np.add.reduceat(weight[places][groups.order], groups.starts)
    first = places[np.minimum.reduceat(groups.order, groups.starts)]
    weight[places] = 0
    weight[first] = total
    kept = where(weight != 0)
    return take_and_set(table, order[kept], WEIGHT, weight[kept])


def equal_runs(table: pa.Table, keys: Sequence[str], order: Positions) -> tuple[Positions, Positions]:
    """An order that has the rows of equal key and `_exp` side by side, and where in it each run of them begins.

    Rows of a merge are given in the order of the hashes of their keys, and stay in it.
    """
    if HASH in table.column_names:
        by: list[npt.NDArray[Any]] = [hashes_of(table)[order]]
        exp = int64(table, EXP)
        if len(exp) and (exp != exp[0]).any():
            by.append(exp[order])
        is_first = are_first(*by)
        starts = np.flatnonzero(is_first)
        if len(starts) == len(order) or is_hash_exact(table, keys):
            return order, starts
        again = np.flatnonzero(~is_first)
        if equal_rows(table, order[again], keys, table, order[again - 1], keys, nulls_equal=True).all():
            return order, starts
    # Keys that share a hash may lie in any order: each row goes to the first one that equals it.
    groups = group_rows(table, [*keys, EXP])
    place = np.full(table.num_rows, table.num_rows)
    place[order] = np.arange(len(order))
    first = np.minimum.reduceat(place[groups.order], groups.starts)[groups.codes]
    order = order[np.argsort(first[order], kind="stable")]
    return order, starts_of(first[order])


class ChunkedBuffer(Buffer):
    """A log of chunks. Subclasses say where rows go and which chunks may be merged.

    `keys` are the columns that `probe` compares; None for a buffer that is never probed, whose rows stay
    in the order of insertion. `combine` is applied when chunks are merged, and to what `live` returns.
    """

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        reason: str,
        nulls_equal: bool = False,
        combine: Combine | None = None,
        policy: MergePolicy = POLICY,
    ) -> None:
        super().__init__(policy, reason, keys)
        self.nulls_equal = nulls_equal
        self._combine = combine
        self._expired_to = BEGINNING
        self.lazy_expiration = DEFAULT
        """When a chunk with dead rows is rewritten."""

    def insert(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._log.append(self._chunk(self._clustered(rows)), self._merged)

    def insert_together(self, tables: Sequence[pa.Table]) -> None:
        """Inserts the rows of several tables at once, combined: that makes one chunk, and fewer merges."""
        if tables:
            clustered = [self._clustered(table) for table in tables]
            self.insert(clustered[0] if len(tables) == 1 else self._together(clustered))

    def probe(self, keys: pa.Table) -> tuple[npt.NDArray[Any], pa.Table]:
        assert self.keys is not None, "this buffer has no keys to probe by"
        needles = keys.append_column("_row", pa.array(np.arange(keys.num_rows)))
        needles = cluster(needles, keys.column_names)
        rows = int64(needles, "_row")
        found = list(self.matches(needles, keys.column_names))
        if not found:
            return np.zeros(0, dtype=np.int64), self._empty()
        parts = [without(take(table, at), HASH) for _, table, at in found]
        return np.concatenate([rows[needle] for needle, _, _ in found]), concat(parts)

    def matches(self, needles: pa.Table, names: Sequence[str]) -> Iterator[Match]:
        """`probe` for rows that are clustered already, without gathering what is found."""
        assert self.keys is not None, "this buffer has no keys to probe by"
        for match in matches_in(self._log.parts, needles, names, self.keys, nulls_equal=self.nulls_equal):
            self.touched += len(match[2])
            yield match

    def expire(self, now: int, since: int = BEGINNING) -> pa.Table:
        return without(self.expire_clustered(now, since), HASH)

    def expire_clustered(self, now: int, since: int = BEGINNING) -> pa.Table:
        """`expire`, of a buffer with keys: with the hashes of the keys, and sorted by them.

        `since` leaves out what had expired by then. A buffer that was restored needs to be told, as chunks
        hold rows that expired before.
        """
        gone: list[pa.Table] = []
        kept: list[Chunk] = []
        already = max(since, self._expired_to)
        for chunk in self._log.parts:
            if not self._is_reached(chunk, now):
                kept.append(chunk)
                continue
            if chunk.high <= now and chunk.low > already:
                self.touched += chunk.rows
                gone.append(chunk.table)
                continue
            due, dead = self._due(chunk, already, now)
            if due.num_rows:
                gone.append(due)
            kept += self._remainder(chunk, dead, now)
        empty = self._empty()
        self._log.parts = kept
        self._expired_to = max(self._expired_to, now)
        return self._together(gone) if gone else empty

    def forget(self, now: int, since: int = BEGINNING) -> int:
        """`expire` for operators that need not see what expired; gives how many rows are alive."""
        kept: list[Chunk] = []
        alive = 0
        already = max(since, self._expired_to)
        for chunk in self._log.parts:
            if not self._is_reached(chunk, now):
                kept.append(chunk)
                alive += chunk.rows
            elif chunk.high > now:
                dead = self._count_dead(chunk, already, now)
                kept += self._remainder(chunk, dead, now)
                alive += chunk.rows - dead
        self._log.parts = kept
        self._expired_to = max(self._expired_to, now)
        return alive

    @property
    def net_rows(self) -> int:
        """How many rows there are when those of negative weight are subtracted."""
        return sum(map(_net_rows, self._log.parts))

    def remove(self, rows: pa.Table) -> pa.Table:
        if self._combine is sum_weights:
            # A stored row may stand for several: what is removed is subtracted.
            self.insert(with_column(rows, WEIGHT, -int64(rows, WEIGHT)))
            return rows
        columns = [name for name in rows.column_names if name not in (TS, WEIGHT, HASH)]
        wanted = rows
        removed: list[pa.Table] = []
        kept: list[Chunk] = []
        for chunk in self._log.parts:
            found = self._positions_of(wanted, chunk, columns)
            if found is None:
                kept.append(chunk)
                continue
            satisfied, at = found
            removed.append(without(take(chunk.table, at), HASH))
            wanted = take(wanted, where(~satisfied))
            stays = np.ones(chunk.rows, dtype=np.bool_)
            stays[at] = False
            if stays.any():
                kept.append(self._chunk(take(chunk.table, where(stays)), [chunk]))
        empty = self._empty()
        self._log.parts = kept
        return concat(removed) if removed else empty

    def live(self, now: int) -> pa.Table:
        alive = [self._alive(chunk, now) for chunk in self._log.parts if chunk.high > now]
        if not alive:
            return self._empty()
        return without(self._together(alive) if self._combine else concat(alive), HASH)

    def restore(self, chunks: Sequence[Chunk]) -> None:
        super().restore(chunks)
        self._expired_to = BEGINNING

    def _clustered(self, rows: pa.Table) -> pa.Table:
        return without(rows, HASH) if self.keys is None else cluster(rows, self.keys)

    def _chunk(self, table: pa.Table, parts: Sequence[Chunk] = ()) -> Chunk:  # noqa: ARG002
        """A new chunk, made of (the rest of) these, or of rows that were not there before."""
        return Chunk.of(table)

    def _is_reached(self, chunk: Chunk, now: int) -> bool:
        """Whether a chunk has to be looked at when time moves to `now`."""
        return chunk.low <= now

    def _due(self, chunk: Chunk, already: int, now: int) -> tuple[pa.Table, int]:
        """The rows of a chunk with `already < _exp <= now`, and how many are dead at `now`."""
        order = self._order_of(chunk, already, now)
        if order is not None:
            due = order.due(already, now)
            self.touched += len(due)
            return take(chunk.table, due), order.count_dead(now)
        self.touched += chunk.rows
        exp = chunk.numbers(EXP)
        is_dead = exp <= now
        return take(chunk.table, where(is_dead & (exp > already))), int(np.count_nonzero(is_dead))

    def _count_dead(self, chunk: Chunk, already: int, now: int) -> int:
        """How many rows of a chunk are dead at `now`."""
        order = self._order_of(chunk, already, now)
        if order is not None:
            return order.count_dead(now)
        self.touched += chunk.rows
        return int(np.count_nonzero(chunk.numbers(EXP) <= now))

    def _order_of(self, chunk: Chunk, already: int, now: int) -> ExpiryOrder | None:
        """In which order the rows of a chunk leave; None where it is to be read whole."""
        return order_of(chunk, already, now)

    def _remainder(self, chunk: Chunk, dead: int, now: int) -> list[Chunk]:
        """What a chunk becomes."""
        if dead == chunk.rows:
            return []
        if not self.lazy_expiration.is_due(chunk, dead, now):
            return [chunk]
        self.touched += chunk.rows
        return [self._chunk(take(chunk.table, where(chunk.numbers(EXP) > now)), [chunk])]

    def _alive(self, chunk: Chunk, now: int) -> pa.Table:
        self.touched += chunk.rows
        table = chunk.table
        if chunk.low <= now:
            table = take(table, where(int64(table, EXP) > now))
        return table

    def _positions_of(
        self, wanted: pa.Table, chunk: Chunk, columns: Sequence[str]
    ) -> tuple[npt.NDArray[np.bool_], Positions] | None:
        """Which wanted rows a chunk can give, and where it holds them; None if it has none of them."""
        exp = int64(wanted, EXP)
        if not len(exp) or chunk.high < exp.min() or chunk.low > exp.max():
            return None
        self.touched += chunk.rows
        both = concat([wanted.select(columns), chunk.table.select(columns)])
        codes = group_rows(both, columns).codes
        asked, held = codes[: len(exp)], codes[len(exp) :]
        groups = int(codes.max()) + 1
        satisfied = rank_within(asked) < np.bincount(held, minlength=groups)[asked]
        at = where(rank_within(held) < np.bincount(asked, minlength=groups)[held])
        return (satisfied, at) if len(at) else None

    def _empty(self) -> pa.Table:
        """No rows, with the columns of the stored ones once there have been any."""
        if self._log.parts:
            return without(self._log.parts[0].table.slice(0, 0), HASH)
        return pa.table({EXP: pa.array([], pa.int64())})

    def _merged(self, chunks: Sequence[Chunk]) -> Chunk | None:
        self.touched += sum(chunk.rows for chunk in chunks)
        has_dead = min(chunk.low for chunk in chunks) <= self._expired_to
        table = self._together(
            [chunk.table for chunk in chunks], after=self._expired_to if has_dead else None
        )
        return self._chunk(table, chunks) if table.num_rows else None

    def _together(self, tables: Sequence[pa.Table], after: int | None = None) -> pa.Table:
        """The rows of several clustered tables as one, combined; with `after`, those with `_exp > after`."""
        table = concat(tables)
        order: Positions | None = None
        if self.keys is not None and len(tables) > 1:
            # The parts are sorted: a stable sort of them all is a merge.
            order = np.argsort(hashes_of(table), kind="stable")
        if after is not None:
            alive = int64(table, EXP) > after
            order = where(alive) if order is None else order[where(alive[order])]
        if self._combine is not None and table.num_rows:
            return self._combine(table, np.arange(table.num_rows) if order is None else order)
        return table if order is None else take(table, order)


def matches_in(
    chunks: Sequence[Chunk],
    needles: pa.Table,
    needle_keys: Sequence[str],
    keys: Sequence[str],
    *,
    nulls_equal: bool,
) -> Iterator[Match]:
    """The rows of chunks, clustered by these keys, that clustered needles equal, chunk by chunk."""
    lookup = HashSearch(hashes_of(needles))
    for chunk in chunks:
        at, stored_at = lookup.find_in(chunk)
        match = verified(needles, at, needle_keys, chunk.table, stored_at, keys, nulls_equal=nulls_equal)
        if len(match[2]):
            yield match


def gathered(matches: Iterable[Match]) -> list[Match]:
    """Matches with several tables, as one with the stored rows that they name where these are few.

    Whoever works on each match by itself then has the cost of a call once, and not for each chunk.
    """
    found = list(matches)
    if len(found) < 2 or sum(len(at) for at, _, _ in found) > _FEW_MATCHES:
        return found
    stored = concat([take(table, stored_at) for _, table, stored_at in found])
    return [(np.concatenate([at for at, _, _ in found]), stored, np.arange(stored.num_rows))]


def matching(
    needles: pa.Table,
    needle_keys: Sequence[str],
    stored: pa.Table,
    stored_keys: Sequence[str],
    *,
    nulls_equal: bool,
) -> Match:
    """All pairs of rows of two clustered tables whose keys are equal."""
    at, stored_at = find(hashes_of(stored), hashes_of(needles))
    return verified(needles, at, needle_keys, stored, stored_at, stored_keys, nulls_equal=nulls_equal)


def verified(
    needles: pa.Table,
    at: Positions,
    needle_keys: Sequence[str],
    stored: pa.Table,
    stored_at: Positions,
    stored_keys: Sequence[str],
    *,
    nulls_equal: bool,
) -> Match:
    """The pairs of equal hash that are of equal key."""
    if len(at) and not (is_hash_exact(needles, needle_keys) and is_hash_exact(stored, stored_keys)):
        equal = equal_rows(needles, at, needle_keys, stored, stored_at, stored_keys, nulls_equal=nulls_equal)
        if not equal.all():
            at, stored_at = at[equal], stored_at[equal]
    return at, stored, stored_at


_nets: WeakKeyDictionary[Chunk, int] = WeakKeyDictionary()
"""Of chunks that were asked: a chunk never changes, and most are there for many epochs."""


def _net_rows(chunk: Chunk) -> int:
    if chunk not in _nets:
        _nets[chunk] = int(int64(chunk.table, WEIGHT).sum())
    return _nets[chunk]


def rank_within(codes: Positions) -> Positions:
    """The number of each element among those of its code, from 0."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, len(codes)))
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return ranks
