"""The tuples of each query in a tuple block, in one of two layouts.

A query that has many of the tuples keeps a bitmap over all of them, one that has few a list of their numbers: when
it takes at most half of the room, because it takes longer to make. One that has none keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.rows import array_of
from panes.plan.nodes import QUERY
from panes.sharing.bits import Bytes, Ints

MOST_TUPLES = 1 << 14
"""Tuples in a block: their numbers fit into two bytes."""

_TUPLES = "_tuples"
_NUMBER = np.dtype(np.uint16)
Numbers = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Entries:
    """The entries of some queries, in ascending order of the queries."""

    queries: Ints
    tuples: int
    """The length of the tuple block."""
    lists: tuple[Ints, Numbers] | None
    """Where the list of each query begins, and the numbers of all lists; None when they are bitmaps."""
    bitmaps: Bytes | None

    @classmethod
    def read(cls, table: pa.Table, tuples: int) -> Entries:
        """The entries of a table that `encoded` made, without a copy."""
        queries = table.column(QUERY).to_numpy()
        column = array_of(table, _TUPLES)
        if pa.types.is_fixed_size_binary(column.type):
            width = column.type.byte_width
            content = np.frombuffer(column.buffers()[1], np.uint8)
            start = column.offset * width
            bitmaps = content[start : start + len(queries) * width].reshape(len(queries), width)
            return cls(queries, tuples, None, bitmaps)
        offsets = column.offsets.to_numpy()
        return cls(queries, tuples, (offsets, column.values.to_numpy()), None)

    def of(self, query: int) -> Ints | None:
        """The numbers of the tuples that a query has; None when it has no entry here."""
        place = int(np.searchsorted(self.queries, query))
        if place == len(self.queries) or self.queries[place] != query:
            return None
        if self.bitmaps is not None:
            flags = np.unpackbits(self.bitmaps[place], count=self.tuples, bitorder="little")
            return np.flatnonzero(flags.view(np.bool_))
        assert self.lists is not None
        offsets, numbers = self.lists
        return numbers[offsets[place] : offsets[place + 1]].astype(np.int64)

    def add_to(self, bitmaps: Bytes, queries: Ints) -> None:
        """Sets the bits of the entries in bitmaps of some queries, among which all of these are."""
        row = np.searchsorted(queries, self.queries)
        if self.bitmaps is not None:
            bitmaps[row] |= self.bitmaps
            return
        assert self.lists is not None
        offsets, numbers = self.lists
        rows = np.repeat(row, np.diff(offsets))
        bits = np.left_shift(1, numbers & 7).astype(np.uint8)
        np.bitwise_or.at(bitmaps, (rows, numbers >> 3), bits)


def encoded(queries: Ints, bitmaps: Bytes) -> Iterator[pa.Table]:
    """Tables of the entries: of the bitmaps, and of the lists."""
    counts = _population(bitmaps)
    is_list = counts * _NUMBER.itemsize * 2 <= bitmaps.shape[1]
    dense = np.flatnonzero(~is_list & (counts > 0))
    if len(dense):
        kept = np.ascontiguousarray(bitmaps[dense])
        kind = pa.binary(bitmaps.shape[1])
        column = pa.FixedSizeBinaryArray.from_buffers(kind, len(dense), [None, pa.py_buffer(kept)])
        yield pa.table({QUERY: queries[dense], _TUPLES: column})
    sparse = np.flatnonzero(is_list & (counts > 0))
    if len(sparse):
        offsets = np.concatenate([[0], np.cumsum(counts[sparse])])
        numbers = pa.array(_numbers_of(bitmaps[sparse]))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), numbers)
        yield pa.table({QUERY: queries[sparse], _TUPLES: lists})


def together(parts: Sequence[Entries], tuples: int) -> tuple[Ints, Bytes]:
    """Entries over one block of that many tuples, as the bitmaps of all their queries."""
    queries = np.unique(np.concatenate([np.zeros(0, np.int64), *(part.queries for part in parts)]))
    bitmaps = np.zeros((len(queries), -(-tuples // 8)), np.uint8)
    for part in parts:
        part.add_to(bitmaps, queries)
    return queries, bitmaps


def _numbers_of(bitmaps: Bytes) -> Numbers:
    """The numbers of the bits that are set, bitmap after bitmap."""
    flat = bitmaps.reshape(-1)
    some = np.flatnonzero(flat != 0)
    inside = np.flatnonzero(np.unpackbits(flat[some], bitorder="little").view(np.bool_)).astype(np.uint32)
    # The remainder, for a tenth of what it costs to divide every number by itself.
    width = bitmaps.shape[1]
    first_of_byte = ((some - some // width * width) * 8).astype(_NUMBER)
    numbers: Numbers = first_of_byte[inside >> 3] + (inside & 7).astype(_NUMBER)
    return numbers


_ONES = np.array([value.bit_count() for value in range(256)], np.uint8)


def _population(bitmaps: Bytes) -> Ints:
    """How many bits each row has."""
    counts: Ints
    if not hasattr(np, "bitwise_count"):  # numpy 1 cannot count bits
        counts = _ONES.take(bitmaps).sum(axis=1, dtype=np.int64)
    elif bitmaps.shape[1] % 8 == 0 and bitmaps.flags.c_contiguous:
        counts = np.bitwise_count(bitmaps.view(np.uint64)).sum(axis=1, dtype=np.int64)
    else:
        counts = np.bitwise_count(bitmaps).sum(axis=1, dtype=np.int64)
    return counts
