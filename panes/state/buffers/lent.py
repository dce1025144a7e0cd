"""State that another operator keeps, lent to one that would keep the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP
from panes.delta.rows import int64, where
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import ChunkedBuffer, Match, matches_in


class Lent(ChunkedBuffer):
    """The rows of a lender as they were at the beginning of a span, to be probed and nothing else.

    Chunks never change, so the chunks that the lender had before it took the span in are what a reader would have
    kept. Nothing is stored here. The lender may hold a live row several times, with different hidden columns: a
    probe finds it once.
    """

    kind = "lent"

    def __init__(self, lender: ChunkedBuffer, name: str) -> None:
        super().__init__(lender.keys, reason=f"reads the state of {name}", nulls_equal=lender.nulls_equal)
        self._lender = lender
        self._borrowed: Sequence[Chunk] = ()
        self._since = BEGINNING

    def borrow(self, since: int) -> None:
        """Fixes what is lent, before the lender takes in the span after `since`."""
        self._borrowed, self._since = self._lender.chunks, since

    def insert(self, rows: pa.Table) -> None:
        """Nothing: the lender keeps what comes."""

    def matches(self, needles: pa.Table, names: Sequence[str]) -> Iterator[Match]:
        assert self.keys is not None
        is_found = np.zeros(needles.num_rows, dtype=np.bool_)
        for at, table, stored_at in matches_in(
            self._borrowed, needles, names, self.keys, nulls_equal=self.nulls_equal
        ):
            self.touched += len(at)
            rows = where((int64(table, EXP)[stored_at] > self._since) & ~is_found[at])
            # Of several rows of one chunk that a needle finds, the last is left standing.
            chosen = np.zeros(needles.num_rows, dtype=np.int64)
            chosen[at[rows]] = rows
            rows = rows[where(chosen[at[rows]] == rows)]
            is_found[at[rows]] = True
            if len(rows):
                yield at[rows], table, stored_at[rows]

    def forget(self, now: int, since: int = BEGINNING) -> int:  # noqa: ARG002
        """Gives the chunks back."""
        self._borrowed = ()
        return self._lender.rows
