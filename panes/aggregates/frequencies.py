"""How often each group holds each value: what holistic aggregates need to know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from panes.aggregates.base import Ints
from panes.aggregates.table import FIRST, SECOND
from panes.delta.delta import FOREVER
from panes.delta.hashing import Hashes
from panes.state.base import State
from panes.state.chunk import Chunk

VALUE = "_value"
COUNT = "_count"
GROUP = "_group"


class Frequencies(State):
    """The counts of the values of each group: a log of differences, as in AccumulatorTable.

    Each chunk is sorted by the hash of the group, so the values of a group are a slice of each chunk.
    """

    def __init__(self, value_type: pa.DataType) -> None:
        self._schema = pa.schema(
            [(FIRST, pa.uint64()), (SECOND, pa.uint64()), (VALUE, value_type), (COUNT, pa.int64())]
        )
        self._chunks: list[Chunk] = []

    @property
    def chunks(self) -> Sequence[Chunk]:
        return self._chunks

    def restore(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = sorted(chunks, key=lambda chunk: chunk.labels["level"])

    def add(self, first: Hashes, second: Hashes, values: pa.ChunkedArray, counts: Ints) -> None:
        """Adds to the counts of values; NULL is not counted."""
        run = _summed(_frame(pa.table([first, second, values, counts], schema=self._schema)))
        while run.height and self._chunks and self._chunks[-1].rows < 2 * run.height:
            chunk = self._chunks.pop()
            self.touched += chunk.rows
            run = _summed(pl.concat([_frame(chunk.table), run]))
        if run.height:
            self._chunks.append(self._chunk(run, level=len(self._chunks)))

    def of(self, first: Hashes, second: Hashes) -> pl.DataFrame:
        """The values of some groups with their counts, by the place of the group among those given and by
        value; the groups are sorted by their hashes."""
        parts = [_frame(self._schema.empty_table()).with_columns(pl.lit(0, pl.Int64).alias(GROUP))]
        for chunk in self._chunks:
            stored = chunk.table.column(FIRST).to_numpy()
            begin = np.searchsorted(stored, first, side="left")
            length = np.searchsorted(stored, first, side="right") - begin
            group = np.repeat(np.arange(len(first)), length)
            within = np.arange(len(group)) - np.repeat(np.cumsum(length) - length, length)
            at = begin[group] + within
            self.touched += len(at)
            found = _frame(chunk.table.take(pa.array(at))).with_columns(pl.Series(GROUP, group))
            # Two groups of one first hash are told apart by the second.
            parts.append(found.filter(pl.Series(second[group]) == found[SECOND]))
        return pl.concat(parts).select(GROUP, VALUE, COUNT)

    def _chunk(self, run: pl.DataFrame, *, level: int) -> Chunk:
        table = run.select(self._schema.names).to_arrow().cast(self._schema).combine_chunks()
        return Chunk(
            lambda: table, rows=table.num_rows, min_exp=FOREVER, max_exp=FOREVER, labels={"level": level}
        )


def held(counted: pl.DataFrame) -> pl.DataFrame:
    """The values that are held at least once, sorted by group and value."""
    summed = counted.group_by(GROUP, VALUE).agg(pl.col(COUNT).sum())
    return summed.filter(pl.col(COUNT) > 0).sort(GROUP, VALUE)


def _summed(frame: pl.DataFrame) -> pl.DataFrame:
    counted = (
        frame.filter(pl.col(VALUE).is_not_null()).group_by(FIRST, SECOND, VALUE).agg(pl.col(COUNT).sum())
    )
    return counted.filter(pl.col(COUNT) != 0).sort(FIRST, SECOND, VALUE)


def _frame(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(table)
