"""The index of standing queries: tuples are matched with all of them at once, whatever their templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa

from panes.sharing.common_cells import CommonCells
from panes.sharing.index_slice import IndexSlice
from panes.sharing.tuple_batch import TupleBatch


class SliceKey(NamedTuple):
    """Whose slice it is."""

    group: int
    scan_number: int
    """Which of the streams of the plan of the group it is."""


@dataclass(frozen=True)
class QueryIndex:
    """The queries of all groups over one stream, or over the pairs of two.

    A row of bits has a bit for each query of each group. A group has a slice of it: its blocks change when its own
    queries come and go, and no others. What groups have in common is the looking up of values: each attribute of a
    tuple is looked up once, in the cells that the constants of all groups make.
    """

    source: str
    """The stream, or the join whose pairs are matched."""
    slices: Mapping[SliceKey, IndexSlice]

    @property
    def queries(self) -> int:
        """How many queries there are in all groups."""
        return sum(len(mine.members) for mine in self.slices.values())

    @cached_property
    def cells(self) -> CommonCells:
        """The cells that are common to the groups whose tuples are matched before a shuffle. Where tuples are kept
        with the bits of queries, they are matched when they are written, with one group."""
        return CommonCells(
            [block for mine in self.slices.values() if not mine.is_kept for block in mine.blocks]
        )

    def batch(self, rows: pa.Table) -> TupleBatch:
        """Tuples of the stream, to be matched with any of the groups."""
        return TupleBatch(rows, self.source, self.cells)

    def to_ship(self) -> QueryIndex:
        """The index without the predicates that it was made of."""
        return QueryIndex(self.source, {key: mine.to_ship() for key, mine in self.slices.items()})
