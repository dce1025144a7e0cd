"""A tuple block: some tuples of a stream, and which of them each query has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import TS, Instants
from panes.delta.rows import Positions, array_of, concat, fixed_width, int64
from panes.plan.nodes import QUERY
from panes.sharing.bits import Bytes, Ints, side_by_side
from panes.sharing.match_encoding import Entries, encoded, together
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy

SEEN = "_seen"
"""The instant from which on a tuple can be seen: its time, or later when it came late."""

LEFT_TS, RIGHT_TS = "_left_ts", "_right_ts"
"""The times of the two tuples of a pair; its `_ts` is the earlier of them."""

_BLOCK, _GENERATION = "block", "generation"


class Generation:
    """The entries of some queries: their bitmaps in one chunk, their lists in another."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = tuple(chunks)
        self.rows = sum(chunk.rows for chunk in chunks)
        self.low = min(chunk.low for chunk in chunks)
        self.high = max(chunk.high for chunk in chunks)

    @property
    def number(self) -> int:
        return self.chunks[0].labels[_GENERATION]


class TupleBlock:
    """Tuples as one chunk, and a log of the entries of queries: first those of the queries that were there when
    the tuples came, then those of queries that came later."""

    def __init__(self, tuples: Chunk, generations: Iterable[Generation] = ()) -> None:
        self.tuples = tuples
        self._generations = Log(MergePolicy(), generations)
        self._read: dict[Chunk, Entries] = {}
        self._numbers: dict[str, npt.NDArray[Any] | None] = {}

    @classmethod
    def of(cls, number: int, rows: pa.Table) -> TupleBlock:
        ts, seen = int64(rows, TS), int64(rows, SEEN)
        labels = {_BLOCK: number, SEEN: int(seen.max())}
        pair = (name for name in (LEFT_TS, RIGHT_TS) if name in rows.column_names)
        labels |= {name: int(int64(rows, name).max()) for name in pair}
        low, high = int(ts.min()), int(ts.max())
        return cls(Chunk(lambda: rows, rows=rows.num_rows, sort_key=TS, low=low, high=high, labels=labels))

    @classmethod
    def restored(cls, tuples: Sequence[Chunk], matches: Sequence[Chunk]) -> list[TupleBlock]:
        """The tuple blocks whose chunks these are."""
        found: dict[int, dict[int, list[Chunk]]] = {number_of(chunk): {} for chunk in tuples}
        for chunk in matches:
            found[number_of(chunk)].setdefault(chunk.labels[_GENERATION], []).append(chunk)
        return [
            cls(chunk, [Generation(chunks) for _, chunks in sorted(found[number_of(chunk)].items())])
            for chunk in tuples
        ]

    @property
    def number(self) -> int:
        return number_of(self.tuples)

    @property
    def rows(self) -> int:
        return self.tuples.rows

    @property
    def matches(self) -> list[Chunk]:
        return [chunk for generation in self._generations.parts for chunk in generation.chunks]

    @property
    def low(self) -> int:
        """The earliest time of a tuple."""
        return self.tuples.low

    @property
    def high(self) -> int:
        """The latest time of a tuple."""
        return self.tuples.high

    @property
    def max_seen(self) -> int:
        return self.tuples.labels[SEEN]

    def latest(self, name: str) -> int:
        """Of pairs: the latest time of a tuple of one side."""
        return self.tuples.labels[name]

    @cached_property
    def ts(self) -> Instants:
        return int64(self.tuples.table, TS)

    @cached_property
    def seen(self) -> Instants:
        return int64(self.tuples.table, SEEN)

    def times(self, name: str) -> Instants:
        """Of pairs: the times of the tuples of one side."""
        return int64(self.tuples.table, name)

    def column(self, name: str) -> pa.Array:
        return array_of(self.tuples.table, name)

    def numbers(self, name: str) -> npt.NDArray[Any] | None:
        """A column as numpy sees it; None when it is not of fixed width, or has NULLs."""
        if name not in self._numbers:
            column = self.column(name)
            self._numbers[name] = None if column.null_count else fixed_width(column)
        return self._numbers[name]

    def note(self, queries: Ints, bitmaps: Bytes) -> None:
        """Keeps the tuples of some queries that have no entries yet, one bitmap each."""
        last = self._generations.parts[-1].number if self._generations.parts else -1
        noted = self._generation(last + 1, queries, bitmaps)
        if noted is not None:
            self._generations.append(noted, self._merged)

    def forget_gone(self, queries: Ints) -> None:
        """Drops the entries of all but these queries, when there are more than twice as many entries as queries.

        So the entries of dropped queries never take more room than one entry per query that is there, and every
        entry that is written anew pays for one that goes.
        """
        queries = queries[queries >= 0]
        if sum(chunk.rows for chunk in self.matches) <= 2 * len(queries):
            return
        have, bitmaps = self._together(self.matches)
        stays = np.isin(have, queries)
        left = self._generation(0, have[stays], bitmaps[stays])
        self._generations.parts = [] if left is None else [left]

    def of_query(self, query: int) -> Positions | None:
        """The numbers of the tuples that a query has; None when it has none."""
        for chunk in self.matches:
            if chunk.low <= query <= chunk.high:
                found = self._entries(chunk).of(query)
                if found is not None:
                    return found
        return None

    def followed_by(self, other: TupleBlock, queries: Ints) -> TupleBlock:
        """Two tuple blocks as one, with the entries of those of the queries that are still there."""
        both = TupleBlock.of(self.number, concat([self.tuples.table, other.tuples.table]))
        kept = np.unique(queries[queries >= 0])
        left, right = self._bitmaps(kept), other._bitmaps(kept)
        both.note(kept, side_by_side(left, self.rows, right, other.rows))
        return both

    def _entries(self, chunk: Chunk) -> Entries:
        if chunk not in self._read:
            self._read[chunk] = Entries.read(chunk.table, self.rows)
        return self._read[chunk]

    def _merged(self, generations: Sequence[Generation]) -> Generation | None:
        chunks = [chunk for generation in generations for chunk in generation.chunks]
        return self._generation(generations[0].number, *self._together(chunks))

    def _generation(self, number: int, queries: Ints, bitmaps: Bytes) -> Generation | None:
        """The entries of those of the queries that have tuples; None when none of them has."""
        labels = {_BLOCK: self.number, _GENERATION: number}
        chunks = [Chunk.of_sorted(table, QUERY, **labels) for table in encoded(queries, bitmaps)]
        return Generation(chunks) if chunks else None

    def _together(self, chunks: Sequence[Chunk]) -> tuple[Ints, Bytes]:
        return together([self._entries(chunk) for chunk in chunks], self.rows)

    def _bitmaps(self, queries: Ints) -> Bytes:
        """A bitmap for each of the queries."""
        have, bitmaps = self._together(self.matches)
        mine = np.zeros((len(queries), bitmaps.shape[1]), np.uint8)
        row = np.searchsorted(queries, have)
        known = row < len(queries)
        known[known] = queries[row[known]] == have[known]
        mine[row[known]] = bitmaps[known]
        return mine


def renumbered(stores: Iterable[tuple[Sequence[Chunk], Sequence[Chunk]]]) -> tuple[list[Chunk], list[Chunk]]:
    """The tuples and the entries of several stores as those of one, in which no two blocks have one number."""
    tuples: list[Chunk] = []
    matches: list[Chunk] = []
    first = 0
    for own_tuples, own_matches in stores:
        for all_chunks, chunks in ((tuples, own_tuples), (matches, own_matches)):
            all_chunks += [chunk.labeled(**{_BLOCK: first + number_of(chunk)}) for chunk in chunks]
        first = 1 + max((number_of(chunk) for chunk in tuples), default=-1)
    return tuples, matches


def number_of(chunk: Chunk) -> int:
    """The tuple block that a chunk is of."""
    return chunk.labels[_BLOCK]
