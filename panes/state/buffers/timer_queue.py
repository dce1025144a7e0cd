"""Rows that wait for an instant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP
from panes.delta.grouped import sort_by_time
from panes.delta.rows import take
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk
from panes.state.log import MergePolicy

SMALL = 8_192
_POLICY = MergePolicy(smallest=SMALL, most=SMALL - 1)
"""Small chunks are merged as they come, so that short epochs do not leave thousands of them. Larger ones are left
alone: each row is read once, so rewriting it costs more than looking into another chunk."""


class TimerQueue(State):
    """Rows by the instant they wait for (`_exp`), for operators that must act when it comes.

    Each chunk is sorted by that instant. As spans follow each other without gaps, the rows that fall due in
    one are a slice of each chunk, found by bisection; a chunk stays as it is until its last row was due, so
    nothing is ever rewritten but small chunks, and a chunk whose first row is not due is not even opened.
    """

    kind = "timer queue"

    def __init__(self, schema: pa.Schema, reason: str = "rows wait for an instant") -> None:
        super().__init__(_POLICY, reason)
        self._schema = schema

    def insert(self, rows: pa.Table) -> None:
        """Adds rows whose instants lie after all spans that were asked for."""
        if rows.num_rows:
            self._log.append(_chunk(rows.select(self._schema.names)), self._merged)

    def due(self, since: int, now: int) -> pa.Table:
        """The rows whose instant is in `(since, now]`; afterwards they are not asked for again."""
        slices = []
        for chunk in self._log.parts:
            if chunk.low > now or chunk.high <= since:
                continue
            instants = chunk.table.column(EXP).to_numpy()
            start, end = np.searchsorted(instants, [since, now], side="right")
            if end > start:
                slices.append(chunk.table.slice(start, end - start))
        self._log.drop_through(now)
        found = pa.concat_tables(slices) if slices else self._schema.empty_table()
        self.touched += found.num_rows
        return found

    def _merged(self, chunks: Sequence[Chunk]) -> Chunk:
        self.touched += sum(chunk.rows for chunk in chunks[:-1])
        return _chunk(pa.concat_tables([chunk.table for chunk in chunks]))


def _chunk(rows: pa.Table) -> Chunk:
    instants = rows.column(EXP).to_numpy()
    if (instants[1:] < instants[:-1]).any():
        rows = take(rows, sort_by_time(instants))
    return Chunk.of_sorted(rows.combine_chunks())
