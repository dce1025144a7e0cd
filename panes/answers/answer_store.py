"""The answer of one query on one shard, kept up to date epoch by epoch, whether anyone looks or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.delta.rows import int64, take
from panes.plan.nodes import QUERY
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy


class AnswerStore:
    """What the deltas of a query add up to, in a log of chunks.

    Only the answer at the clock is kept: of a weighted delta just its net effect, so that a span with many
    slides costs no more space than one. Chunks are sorted by expiry, and dropped when all of their rows have
    expired.
    """

    def __init__(self, chunks: Sequence[Chunk] = ()) -> None:
        self._log = Log(MergePolicy(), chunks)

        self.touched = 0
        """Rows of chunks that updates have read and moved, where there is an index."""

    def gather(self, clock: int) -> None:
        """Makes one state of chunks that come from several shards: the answer at a clock that they add up to."""
        if not self._log.parts:
            return
        names = self._log.parts[0].table.column_names
        rows = rows_at(pa.concat_tables([chunk.table.select(names) for chunk in self._log.parts]), clock)
        self._log.parts = []
        self._begin_with(rows, clock)

    def _begin_with(self, rows: pa.Table, clock: int) -> None:  # noqa: ARG002
        if rows.num_rows:
            self._log.parts = [Chunk.of(in_order(rows))]

    @property
    def chunks(self) -> Sequence[Chunk]:
        return tuple(self._log.parts)

    def apply(self, delta: Delta) -> None:
        def at_the_clock(tables: Sequence[pa.Table]) -> Chunk | None:
            rows = rows_at(pa.concat_tables(tables), delta.clock)
            return Chunk.of(in_order(rows)) if rows.num_rows else None

        self._log.drop_through(delta.clock)
        added = at_the_clock([delta.table])
        if added is not None:
            self._log.append(added, lambda chunks: at_the_clock([chunk.table for chunk in chunks]))


def changes_chunk(delta: Delta) -> list[Chunk]:
    """The delta as it is kept for those who read changes; nothing when it has no rows."""
    return [Chunk.of(in_order(delta.table))] if delta.rows else []


def in_order(rows: pa.Table) -> pa.Table:
    """The rows by expiry, so that those which leave in a span lie together; by query first, where many share."""
    exp = int64(rows, EXP)
    if QUERY in rows.column_names:
        return take(rows, np.lexsort((exp, int64(rows, QUERY))))
    return rows if _is_sorted(exp) else take(rows, np.argsort(exp, kind="stable"))


def rows_at(rows: pa.Table, now: int) -> pa.Table:
    """The rows that count at `now` or later; of weighted ones, their sums.

    Rows that begin later than `now` are not in a delta of a span that ends at `now`, so none is lost.
    """
    rows = rows.filter(pa.array(rows.column(EXP).to_numpy() > now))
    if WEIGHT not in rows.column_names:
        return rows
    return summed(rows, [name for name in rows.column_names if name not in (TS, WEIGHT)])


def summed(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """One row for each combination of some columns, with the sum of the weights where that is not zero."""
    others = [name for name in rows.column_names if name not in (*by, WEIGHT)]
    frame = pl.DataFrame(rows)
    amounts = [*(pl.col(name).max() for name in others), pl.col(WEIGHT).sum()]
    sums = frame.group_by(by, maintain_order=True).agg(amounts) if by else frame.select(amounts)
    return sums.filter(pl.col(WEIGHT) != 0).select(rows.column_names).to_arrow().cast(rows.schema)


def answer_of(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The relation that rows which are all alive add up to, one row per multiplicity, without hidden columns."""
    if not tables:
        return schema.empty_table()
    rows = pa.concat_tables(tables)
    if WEIGHT not in rows.column_names:
        return rows.select(schema.names)
    if len(tables) > 1 or np.any(rows.column(WEIGHT).to_numpy() < 0):
        rows = summed(rows.select([*schema.names, WEIGHT]), schema.names)
    return repeated(rows.select([*schema.names, WEIGHT]))


def repeated(rows: pa.Table) -> pa.Table:
    """Each row as often as its weight says, without the weight."""
    times = rows.column(WEIGHT).to_numpy()
    rows = rows.drop_columns([WEIGHT])
    if np.all(times == 1):
        return rows
    return rows.take(pa.array(np.repeat(np.arange(len(times)), times)))


def _is_sorted(values: npt.NDArray[np.int64]) -> bool:
    return bool(np.all(values[1:] >= values[:-1]))
