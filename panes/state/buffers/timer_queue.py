"""Rows that wait for an instant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk

SMALL = 8_192
"""Chunks of fewer rows are merged with the next, so that short epochs do not leave thousands of them."""


class TimerQueue(State):
    """Rows by the instant they wait for (`_exp`), for operators that must act when it comes.

    Each chunk is sorted by that instant. As spans follow each other without gaps, the rows that fall due in
    one are a slice of each chunk, found by bisection; a chunk stays as it is until its last row was due, so
    nothing is ever rewritten but small chunks, and a chunk whose first row is not due is not even opened.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._chunks: list[Chunk] = []

    @property
    def chunks(self) -> Sequence[Chunk]:
        return self._chunks

    def restore(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = sorted(chunks, key=lambda chunk: chunk.labels["number"])

    def insert(self, rows: pa.Table) -> None:
        """Adds rows whose instants lie after all spans that were asked for."""
        if not rows.num_rows:
            return
        rows = rows.select(self._schema.names)
        number = 0
        if self._chunks:
            number = self._chunks[-1].labels["number"] + 1
            if self._chunks[-1].rows + rows.num_rows < SMALL:
                number -= 1
                self.touched += self._chunks[-1].rows
                rows = pa.concat_tables([self._chunks.pop().table, rows])
        instants = rows.column(EXP).to_numpy()
        if (instants[1:] < instants[:-1]).any():
            rows = rows.take(pa.array(np.argsort(instants, kind="stable")))
        self._chunks.append(Chunk.of(rows.combine_chunks(), number=number))

    def due(self, since: int, now: int) -> pa.Table:
        """The rows whose instant is in `(since, now]`; afterwards they are not asked for again."""
        slices = []
        kept = []
        for chunk in self._chunks:
            if chunk.max_exp > now:
                kept.append(chunk)
            if chunk.min_exp > now or chunk.max_exp <= since:
                continue
            instants = chunk.table.column(EXP).to_numpy()
            start, end = np.searchsorted(instants, [since, now], side="right")
            if end > start:
                slices.append(chunk.table.slice(start, end - start))
        self._chunks = kept
        found = pa.concat_tables(slices) if slices else self._schema.empty_table()
        self.touched += found.num_rows
        return found
