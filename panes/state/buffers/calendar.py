"""A calendar queue: rows partitioned by the time at which they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER
from panes.delta.rows import int64, take
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import ChunkedBuffer, Combine


class Calendar(ChunkedBuffer):
    """State of WEAK input: the order of leaving is known, and differs from that of coming.

    The days are equal ranges of expiry time. Their width doubles when what is stored spans more than
    `calendar_days` of them, so there are never more than that, and old days lie inside the new ones. The log is
    partitioned by day: chunks of different days never merge.

    Insertion sorts the new rows by day; expiry drops the days that are over and reads only the day that
    holds the instant. Rows that never leave have a day of their own.

    `updates` counts, of rows to be inserted, those that take the place of one that is there, of which
    `combine` then leaves one. A day is merged whole before more than half of its rows may be such, so it
    never holds more than twice the rows that it needs to.
    """

    kind = "calendar"

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        reason: str = "rows leave at a known time in any order",
        calendar_days: int = 10,
        nulls_equal: bool = False,
        combine: Combine | None = None,
        updates: Callable[[pa.Table], int] | None = None,
    ) -> None:
        super().__init__(keys, reason=reason, nulls_equal=nulls_equal, combine=combine)
        self._updates = updates
        self._calendar_days = calendar_days
        self._width = 0

    def insert(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        rows = self._clustered(rows)
        exp = int64(rows, EXP)
        self._widen(exp)
        if exp.min() // self._width == exp.max() // self._width:
            self._insert_day(rows)
            return
        for part in self._by_day(rows, exp // self._width):
            self._insert_day(part)

    def restore(self, chunks: Sequence[Chunk]) -> None:
        super().restore(chunks)
        self._width = max((chunk.labels["width"] for chunk in chunks), default=0)

    def compact(self) -> None:
        for day in {self._day_of(chunk) for chunk in self._log.parts}:
            self._log.merge_all(self._whole_day, partial(self._is_of, day))

    def _chunk(self, table: pa.Table, parts: Sequence[Chunk] = ()) -> Chunk:
        updates = sum(chunk.labels["updates"] for chunk in parts)
        if not parts and self._updates is not None:
            updates = self._updates(table)
        return Chunk.of(table, width=self._width, updates=updates)

    def _by_day(self, rows: pa.Table, day: npt.NDArray[np.int64]) -> Iterator[pa.Table]:
        number = day - day.min()
        if number.max() > np.iinfo(np.uint16).max:
            # Rows that never leave lie far behind all others.
            number = np.unique(day, return_inverse=True)[1]
        # The sort must be stable to keep each day clustered; on such small integers it is a radix sort.
        by_day = take(rows, np.argsort(number.astype(np.uint16), kind="stable"))
        start = 0
        for count in np.bincount(number):
            if count:
                yield by_day.slice(start, count)
                start += count

    def _insert_day(self, rows: pa.Table) -> None:
        chunk = self._chunk(rows)
        day = self._day_of(chunk)

        is_near = partial(self._is_of, day)
        self._log.append(chunk, self._merged, is_near)
        of_day = [c for c in self._log.parts if is_near(c)]
        if 2 * sum(c.labels["updates"] for c in of_day) > sum(c.rows for c in of_day):
            self._log.merge_all(self._whole_day, is_near)

    def _day_of(self, chunk: Chunk) -> int:
        """The day of a chunk, all of whose rows are of one: days only grow by joining."""
        return chunk.low // self._width

    def _is_of(self, day: int, chunk: Chunk) -> bool:
        return self._day_of(chunk) == day

    def _whole_day(self, chunks: Sequence[Chunk]) -> Chunk | None:
        merged = self._merged(chunks)
        return None if merged is None else Chunk.of(merged.table, width=self._width, updates=0)

    def _widen(self, exp: npt.NDArray[np.int64]) -> None:
        """Doubles the width of a day until what is stored fits into the number of days."""
        finite = exp[exp < FOREVER]
        ends = [(int(finite.min()), int(finite.max()))] if len(finite) else []
        ends += [(chunk.low, chunk.high) for chunk in self._log.parts if chunk.high < FOREVER]
        self._width = max(self._width, 1)
        if ends:
            reach = max(high for _, high in ends) - min(low for low, _ in ends)
            while reach // self._width >= self._calendar_days:
                self._width *= 2
