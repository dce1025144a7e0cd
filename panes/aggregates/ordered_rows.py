"""The rows of each partition in a total order, with how often each is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from panes.aggregates.accumulator_table import FIRST, SECOND
from panes.aggregates.base import Ints
from panes.aggregates.frequencies import COUNT, GROUP
from panes.delta.hashing import Hashes
from panes.delta.orders import in_order
from panes.plan.sort_key import SortKey
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk
from panes.state.log import MergePolicy

IS_CUT = "_is_cut"
"""Whether a chunk has more rows of the partition after this one, which were not read."""


_POLICY = MergePolicy(fan_in=4)
"""To look into one more chunk is cheap, as a few rows of it are read; to sort rows once more is not."""


class OrderedRows(State):
    """The counts of the rows of each partition: a log of differences, as in Frequencies.

    Each chunk is sorted by the hash of the partition and then by the order, so that the first rows of a partition
    are found in each chunk without the others. `keys` are the columns that the hashes are of.
    """

    kind = "ordered rows"

    def __init__(
        self,
        columns: pa.Schema,
        order: Sequence[SortKey],
        keys: Sequence[str] = (),
        reason: str = "rows of a partition in their order",
        most: int | None = None,
    ) -> None:
        """`order` names every column. With `most` only that number of first rows of a partition is ever asked
        for, and no count falls: others are forgotten."""
        super().__init__(_POLICY, reason, keys)
        hidden = [(FIRST, pa.uint64()), (SECOND, pa.uint64()), (COUNT, pa.int64())]
        self._schema = pa.schema([*columns, *(pa.field(name, type_) for name, type_ in hidden)])
        self._columns = list(columns.names)
        self._order = tuple(order)
        self._most = most

    def add(self, first: Hashes, second: Hashes, rows: pa.Table, counts: Ints) -> None:
        """Adds to the counts of rows."""
        columns = [*(rows.column(name) for name in self._columns), first, second, counts]
        added = self._chunk([_frame(pa.table(columns, schema=self._schema))])
        if added is not None:
            self._log.append(added, self._merged)

    def first_rows(self, first: Hashes, second: Hashes, partitions: Ints, most: int) -> pl.DataFrame:
        """The first rows of some of the partitions given, at most a number of each chunk, in no order.

        Each has the place of its partition among those given (`GROUP`), the count that the chunk adds to it, and
        `IS_CUT`: of rows that come after such a one in the order, not all counts have been read.
        """
        parts = [self._first_rows(chunk, first, second, partitions, most) for chunk in self._log.parts]
        return pl.concat([self._nothing(), *parts])

    def _first_rows(
        self, chunk: Chunk, first: Hashes, second: Hashes, partitions: Ints, most: int
    ) -> pl.DataFrame:
        stored = chunk.table.column(FIRST).to_numpy()
        begin = np.searchsorted(stored, first[partitions], side="left")
        length = np.searchsorted(stored, first[partitions], side="right") - begin
        # Where two partitions share the first hash, both are read whole, and told apart by the second.
        some = np.flatnonzero(length)
        seconds = chunk.table.column(SECOND).to_numpy()
        read = np.minimum(length, most)
        shared = some[seconds[begin[some]] != seconds[begin[some] + length[some] - 1]]
        read[shared] = length[shared]
        which = np.repeat(np.arange(len(partitions)), read)
        ends = np.cumsum(read)
        at = begin[which] + np.arange(len(which)) - np.repeat(ends - read, read)
        self.touched += len(at)
        is_cut = np.zeros(len(at), np.bool_)
        is_cut[ends[read < length] - 1] = True
        partition = partitions[which]
        found = _frame(chunk.table.take(pa.array(at))).with_columns(
            pl.Series(GROUP, partition), pl.Series(IS_CUT, is_cut)
        )
        own = found.filter(pl.Series(second[partition]) == found[SECOND])
        return own.select(*self._columns, GROUP, COUNT, IS_CUT)

    def _nothing(self) -> pl.DataFrame:
        empty = _frame(self._schema.empty_table())
        hidden = pl.Series(GROUP, [], pl.Int64), pl.Series(IS_CUT, [], pl.Boolean)
        return empty.with_columns(*hidden).select(*self._columns, GROUP, COUNT, IS_CUT)

    def _merged(self, chunks: Sequence[Chunk]) -> Chunk | None:
        self.touched += sum(chunk.rows for chunk in chunks[:-1])
        return self._chunk([_frame(chunk.table) for chunk in chunks])

    def _chunk(self, frames: Sequence[pl.DataFrame]) -> Chunk | None:
        # Without keys there is one partition, and sorting by its hashes would be in vain.
        partition = (SortKey(FIRST), SortKey(SECOND)) if self.keys else ()
        values = [FIRST, SECOND, *self._columns] if self.keys else self._columns
        ordered = summed_in_order(in_order(pl.concat(frames), (*partition, *self._order)), values)
        if self._most is not None:
            up_to = pl.col(COUNT).cum_sum().over(FIRST, SECOND)
            ordered = ordered.filter(up_to - pl.col(COUNT) < self._most)
        if not ordered.height:
            return None
        table = ordered.select(self._schema.names).to_arrow()
        return Chunk.of_sorted(table.cast(self._schema).combine_chunks(), FIRST)


def _frame(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(table)


def summed_in_order(frame: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """One row for each value of sorted rows with the sum of their counts, without those that come to nothing."""
    starts = np.flatnonzero(are_new(frame, values))
    counts = np.add.reduceat(frame[COUNT].to_numpy(), starts) if len(starts) else np.zeros(0, np.int64)
    there = counts != 0
    found: pl.DataFrame = frame[starts[there]]
    return found.with_columns(pl.Series(COUNT, counts[there]))


def are_new(frame: pl.DataFrame, values: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which rows are not the same as the one before; NULL is the same as NULL, and NaN as NaN."""
    differ = np.zeros(frame.height, np.bool_)
    differ[:1] = True
    for name in values:
        column = frame[name]
        differ[1:] |= column[1:].ne_missing(column[:-1]).to_numpy()
    return differ
