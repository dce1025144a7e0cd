"""How often each group holds each value: what holistic aggregates need to know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from panes.aggregates.accumulator_table import FIRST, SECOND
from panes.aggregates.base import Ints
from panes.delta.hashing import Hashes
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk
from panes.state.log import MergePolicy

VALUE = "_value"
COUNT = "_count"
GROUP = "_group"
_BOUND = "_bound"


class Frequencies(State):
    """The counts of the values of each group: a log of differences, as in AccumulatorTable.

    Each chunk is sorted by the hash of the group, so the values of a group are a slice of each chunk. `keys`
    are the columns that the hashes are of. Besides how often it occurs, `amounts` may be summed for each value;
    then also for NULL, which is not counted.
    """

    kind = "value counts"

    def __init__(
        self,
        value_type: pa.DataType,
        keys: Sequence[str] = (),
        reason: str = "values of a group in their order",
        amounts: int = 0,
    ) -> None:
        super().__init__(MergePolicy(), reason, keys)
        self._numbers = [COUNT, *map(amount_name, range(amounts))]
        hashes = [(FIRST, pa.uint64()), (SECOND, pa.uint64()), (VALUE, value_type)]
        self._schema = pa.schema([*hashes, *((name, pa.int64()) for name in self._numbers)])

    def add(
        self, first: Hashes, second: Hashes, values: pa.ChunkedArray, counts: Ints, *amounts: Ints
    ) -> None:
        """Adds to the counts of values, and to their amounts; NULL is not counted."""
        rows = pa.table([first, second, values, counts, *amounts], schema=self._schema)
        added = self._chunk(_summed(not_counting_null(_frame(rows))))
        if added is not None:
            self._log.append(added, self._merged)

    def sizes(self, first: Hashes) -> Ints:
        """How many values are stored for each of the groups, at most."""
        sizes = np.zeros(len(first), np.int64)
        for chunk in self._log.parts:
            stored = chunk.table.column(FIRST).to_numpy()
            sizes += np.searchsorted(stored, first, side="right") - np.searchsorted(
                stored, first, side="left"
            )
        return sizes

    def of(self, first: Hashes, second: Hashes) -> pl.DataFrame:
        """The values of some groups with their counts, by the place of the group among those given and by
        value; the groups are sorted by their hashes."""
        places = np.arange(len(first))
        parts = [self._slices(chunk, first, second, places, most=None)[0] for chunk in self._log.parts]
        return pl.concat([self._nothing(), *parts])

    def ends(self, first: Hashes, second: Hashes, *, greatest: bool) -> pl.DataFrame:
        """The least (or the greatest) value that each group holds, where it holds any.

        A few values at that end of each chunk are read; only where all of them have left, more.
        """
        answers = [self._nothing().select(GROUP, VALUE)]
        groups = np.arange(len(first))
        most = 8
        while len(groups):
            parts, bounds = [self._nothing()], [self._nothing().select(GROUP, pl.col(VALUE).alias(_BOUND))]
            for chunk in self._log.parts:
                found, bound = self._slices(chunk, first, second, groups, most=most, greatest=greatest)
                parts.append(found)
                bounds.append(bound)
            known = _up_to_bounds(held(pl.concat(parts)), pl.concat(bounds), greatest=greatest)
            ends = known.group_by(GROUP, maintain_order=True).agg(
                pl.col(VALUE).last() if greatest else pl.col(VALUE).first()
            )
            answers.append(ends)
            groups = np.setdiff1d(pl.concat(bounds)[GROUP].to_numpy(), ends[GROUP].to_numpy())
            most *= 8
        return pl.concat(answers)

    def _slices(
        self,
        chunk: Chunk,
        first: Hashes,
        second: Hashes,
        groups: Ints,
        *,
        most: int | None,
        greatest: bool = False,
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The values of some groups in a chunk, and of those with more than `most` how far they were read."""
        stored = chunk.table.column(FIRST).to_numpy()
        begin = np.searchsorted(stored, first[groups], side="left")
        length = np.searchsorted(stored, first[groups], side="right") - begin
        # Where two groups share the first hash, both are read whole, and told apart by the second.
        shared = _has_two(chunk.table, begin, length)
        read = length if most is None else np.where(shared, length, np.minimum(length, most))
        if greatest:
            begin = begin + length - read
        which = np.repeat(np.arange(len(groups)), read)
        at = begin[which] + np.arange(len(which)) - np.repeat(np.cumsum(read) - read, read)
        self.touched += len(at)
        found = _frame(chunk.table.take(pa.array(at))).with_columns(pl.Series(GROUP, groups[which]))
        own = found.filter(pl.Series(second[groups[which]]) == found[SECOND]).select(
            GROUP, VALUE, *self._numbers
        )
        cut = np.flatnonzero(read < length)
        last = begin[cut] if greatest else begin[cut] + read[cut] - 1
        bound = _frame(chunk.table.select([VALUE]).take(pa.array(last)))
        return own, bound.select(pl.Series(GROUP, groups[cut]), pl.col(VALUE).alias(_BOUND))

    def _nothing(self) -> pl.DataFrame:
        empty = _frame(self._schema.empty_table())
        return empty.select(pl.lit(0, pl.Int64).alias(GROUP), VALUE, *self._numbers).head(0)

    def _merged(self, chunks: Sequence[Chunk]) -> Chunk | None:
        self.touched += sum(chunk.rows for chunk in chunks[:-1])
        return self._chunk(_summed(pl.concat([_frame(chunk.table) for chunk in chunks])))

    def _chunk(self, counted: pl.DataFrame) -> Chunk | None:
        if not counted.height:
            return None
        table = counted.select(self._schema.names).to_arrow().cast(self._schema).combine_chunks()
        return Chunk.of_sorted(table, FIRST)


def amount_name(number: int) -> str:
    """The column of an amount that is summed for each value."""
    return f"_amount_{number}"


def not_counting_null(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that say something: of NULL only amounts do."""
    is_null = pl.col(VALUE).is_null()
    if amount_name(0) not in frame.columns:
        return frame.filter(~is_null)
    return frame.with_columns(pl.when(is_null).then(0).otherwise(pl.col(COUNT)).alias(COUNT))


def held(counted: pl.DataFrame) -> pl.DataFrame:
    """The values that are held at least once, and the amounts of NULL, sorted by group and value."""
    summed = counted.group_by(GROUP, VALUE).agg(pl.exclude(GROUP, VALUE).sum())
    return summed.filter((pl.col(COUNT) > 0) | pl.col(VALUE).is_null()).sort(GROUP, VALUE)


def _up_to_bounds(values: pl.DataFrame, bounds: pl.DataFrame, *, greatest: bool) -> pl.DataFrame:
    """The values for which all chunks have been read: a count beyond the nearest bound may not be whole."""
    bound = pl.col(_BOUND)
    nearest = bounds.group_by(GROUP).agg(bound.max() if greatest else bound.min())
    both = values.join(nearest, on=GROUP, how="left", maintain_order="left")
    inside = pl.col(VALUE) >= bound if greatest else pl.col(VALUE) <= bound
    return both.filter(bound.is_null() | inside)


def _has_two(table: pa.Table, begin: Ints, length: Ints) -> npt.NDArray[np.bool_]:
    """Whether rows of more than one second hash are in each slice."""
    some = length > 0
    second = table.column(SECOND).to_numpy()
    shared = np.zeros(len(begin), np.bool_)
    shared[some] = second[begin[some]] != second[begin[some] + length[some] - 1]
    return shared


def _summed(frame: pl.DataFrame) -> pl.DataFrame:
    keys = [FIRST, SECOND, VALUE]
    counted = frame.group_by(keys).agg(pl.exclude(keys).sum())
    return counted.filter(pl.any_horizontal(pl.exclude(keys) != 0)).sort(keys)


def _frame(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(table)
