"""A stretch of a stream: some tuples, and which of them each query has."""

from __future__ import annotations

from collections.abc import Sequence
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

SEEN = "_seen"
"""The instant from which on a tuple can be seen: its time, or later when it came late."""

_STRETCH, _GENERATION = "stretch", "generation"


class TupleBlock:
    """Tuples as one chunk, and the entries of queries in generations of chunks: first those of the queries that
    were there when the tuples came, then those of queries that came later."""

    def __init__(self, tuples: Chunk, generations: Sequence[Sequence[Chunk]] = ()) -> None:
        self.tuples = tuples
        self.generations = [list(chunks) for chunks in generations]
        self._read: dict[Chunk, Entries] = {}
        self._numbers: dict[str, npt.NDArray[Any] | None] = {}

    @classmethod
    def of(cls, number: int, rows: pa.Table) -> TupleBlock:
        ts, seen = int64(rows, TS), int64(rows, SEEN)
        labels = {_STRETCH: number, SEEN: int(seen.max())}
        # The range by which a chunk can be passed over is here that of its times.
        low, high = int(ts.min()), int(ts.max())
        return cls(Chunk(lambda: rows, rows=rows.num_rows, min_exp=low, max_exp=high, labels=labels))

    @classmethod
    def restored(cls, tuples: Sequence[Chunk], matches: Sequence[Chunk]) -> list[TupleBlock]:
        """The stretches whose chunks these are."""
        found: dict[int, dict[int, list[Chunk]]] = {number_of(chunk): {} for chunk in tuples}
        for chunk in matches:
            found[number_of(chunk)].setdefault(chunk.labels[_GENERATION], []).append(chunk)
        return [
            cls(chunk, [chunks for _, chunks in sorted(found[number_of(chunk)].items())]) for chunk in tuples
        ]

    @property
    def number(self) -> int:
        return number_of(self.tuples)

    @property
    def rows(self) -> int:
        return self.tuples.rows

    @property
    def matches(self) -> list[Chunk]:
        return [chunk for chunks in self.generations for chunk in chunks]

    @property
    def min_ts(self) -> int:
        return self.tuples.min_exp

    @property
    def max_ts(self) -> int:
        return self.tuples.max_exp

    @property
    def max_seen(self) -> int:
        return self.tuples.labels[SEEN]

    @cached_property
    def ts(self) -> Instants:
        return int64(self.tuples.table, TS)

    @cached_property
    def seen(self) -> Instants:
        return int64(self.tuples.table, SEEN)

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
        self.generations.append(self._chunks(queries, bitmaps))
        while len(self.generations) > 1 and _size(self.generations[-2]) <= 2 * _size(self.generations[-1]):
            younger = self.generations.pop()
            both = self._together([*self.generations.pop(), *younger])
            self.generations.append(self._chunks(*both))

    def forget_gone(self, queries: Ints) -> None:
        """Drops the entries of all but these queries, when there are more than twice as many entries as queries.

        So the entries of dropped queries never take more room than one entry per query that is there, and every
        entry that is written anew pays for one that goes.
        """
        queries = queries[queries >= 0]
        if _size(self.matches) <= 2 * len(queries):
            return
        have, bitmaps = self._together(self.matches)
        stays = np.isin(have, queries)
        self.generations = []
        self.generations.append(self._chunks(have[stays], bitmaps[stays]))

    def of_query(self, query: int) -> Positions | None:
        """The numbers of the tuples that a query has; None when it has none."""
        for chunk in self.matches:
            if chunk.min_exp <= query <= chunk.max_exp:
                found = self._entries(chunk).of(query)
                if found is not None:
                    return found
        return None

    def followed_by(self, other: TupleBlock, queries: Ints) -> TupleBlock:
        """Two stretches as one, with the entries of those of the queries that are still there."""
        both = TupleBlock.of(self.number, concat([self.tuples.table, other.tuples.table]))
        kept = np.unique(queries[queries >= 0])
        left, right = self._bitmaps(kept), other._bitmaps(kept)
        both.note(kept, side_by_side(left, self.rows, right, other.rows))
        return both

    def _entries(self, chunk: Chunk) -> Entries:
        if chunk not in self._read:
            self._read[chunk] = Entries.read(chunk.table, self.rows)
        return self._read[chunk]

    def _chunks(self, queries: Ints, bitmaps: Bytes) -> list[Chunk]:
        labels = {_STRETCH: self.number, _GENERATION: len(self.generations)}
        return [_chunk_of(table, labels) for table in encoded(queries, bitmaps)]

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


def number_of(chunk: Chunk) -> int:
    """The stretch that a chunk is of."""
    return chunk.labels[_STRETCH]


def _chunk_of(table: pa.Table, labels: dict[str, int]) -> Chunk:
    queries = table.column(QUERY).to_numpy()
    # The range by which a chunk can be passed over is here that of its queries.
    low, high = int(queries[0]), int(queries[-1])
    return Chunk(lambda: table, rows=table.num_rows, min_exp=low, max_exp=high, labels=labels)


def _size(chunks: Sequence[Chunk]) -> int:
    return sum(chunk.rows for chunk in chunks)
