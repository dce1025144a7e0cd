"""The answer of one query on one shard, kept up to date epoch by epoch, whether anyone looks or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.state.chunk import Chunk

ANSWER = "answer"
"""The name of the answer among the states of a shard."""


class AnswerStore:
    """What the deltas of a query add up to, in chunks of growing size.

    Only the answer at the clock is kept: of a weighted delta just its net effect, so that a span with many
    slides costs no more space than one. The newest chunks are merged when they have grown to the size of the
    one before: a row is rewritten a logarithmic number of times, and an answer has that many chunks.
    """

    def __init__(self, chunks: Sequence[Chunk] = ()) -> None:
        self._chunks = list(chunks)

    @property
    def chunks(self) -> Sequence[Chunk]:
        return tuple(self._chunks)

    def apply(self, delta: Delta) -> None:
        self._chunks = [chunk for chunk in self._chunks if chunk.max_exp > delta.clock]
        self._add(rows_at(delta.table, delta.clock))
        while len(self._chunks) > 1 and self._chunks[-2].rows <= 2 * self._chunks[-1].rows:
            newer, older = self._chunks.pop(), self._chunks.pop()
            self._add(rows_at(pa.concat_tables([older.table, newer.table]), delta.clock))

    def _add(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._chunks.append(Chunk.of(rows))


def rows_at(rows: pa.Table, now: int) -> pa.Table:
    """The rows that count at `now` or later; of weighted ones, their sums.

    Rows that begin later than `now` are not in a delta of a span that ends at `now`, so none is lost.
    """
    rows = rows.filter(pa.array(rows.column(EXP).to_numpy() > now))
    if WEIGHT not in rows.column_names:
        return rows
    names = [name for name in rows.column_names if name not in (TS, WEIGHT)]
    sums = (
        pl.from_arrow(rows)
        .group_by(names, maintain_order=True)  # type: ignore[union-attr]
        .agg(pl.col(TS).max(), pl.col(WEIGHT).sum())
        .filter(pl.col(WEIGHT) != 0)
    )
    return sums.select(rows.column_names).to_arrow().cast(rows.schema)


def answer_of(chunks: Sequence[Chunk], now: int, schema: pa.Schema) -> pa.Table:
    """The relation that chunks add up to at `now`, one row per multiplicity, without hidden columns."""
    tables = [chunk.table for chunk in chunks if chunk.max_exp > now]
    if not tables:
        return schema.empty_table()
    rows = rows_at(pa.concat_tables(tables), now)
    if WEIGHT in rows.column_names:
        times = rows.column(WEIGHT).to_numpy()
        if not np.all(times == 1):
            rows = rows.take(pa.array(np.repeat(np.arange(len(times)), times)))
    return rows.select(schema.names)
