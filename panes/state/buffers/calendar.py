"""A calendar queue: rows partitioned by the time at which they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER
from panes.delta.grouped import sort_by_time
from panes.delta.rows import int64, take
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import POLICY, ChunkedBuffer, Combine
from panes.state.buffers.expiry_order import ExpiryOrder, order_of

_FEWEST_TO_DIVIDE, _SHARE_TO_DIVIDE = 8_192, 8
"""Young rows are divided into days when they are that many, and more than one in eight of all."""

_FIRST_SPANS = 8
"""In how many spans a young chunk is read whole before its rows are ordered by expiry: most are merged or divided
before that."""

_POLICY_TO_PROBE = replace(POLICY, fan_in=2)
"""A probe looks into the chunks of every day, so there are to be few in each."""
_POLICY_TO_READ_ONCE = replace(POLICY, most=16_384)
"""Rows that are only read when they leave, and with which nothing cancels out, are not rewritten in large chunks:
to merge these costs more than to find a slice of each."""


class Calendar(ChunkedBuffer):
    """State of WEAK input: the order of leaving is known, and differs from that of coming.

    The days are equal ranges of expiry time. Their width doubles when what is stored spans more than
    `calendar_days` of them, so there are never more than that, and old days lie inside the new ones. The log is
    partitioned by day: chunks of different days never merge.

    What is inserted is *young* at first: a partition of its own, for all days, so that a small insertion makes
    one chunk and not one for each day, and a probe looks into one more partition and not into many small
    chunks. When there are many young rows they are divided into their days, each row once.

    With keys, rows lie by the hash of their key, and expiry finds those that leave by the order of their
    chunk. Without keys, rows lie in the order of leaving: those that leave in a span are a slice of each chunk.
    Only young chunks and those of the day that holds the instant are looked at; days that are over are dropped.
    Rows that never leave have a day of their own.

    `updates` counts, of rows to be inserted, those that take the place of one that is there, of which
    `combine` then leaves one. A day is merged whole before more than half of its rows may be such, so it
    never holds more than twice the rows that it needs to; so are the young rows.
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
        policy = POLICY if keys is None else _POLICY_TO_PROBE
        if keys is None and combine is None:
            policy = _POLICY_TO_READ_ONCE
        super().__init__(keys, reason=reason, nulls_equal=nulls_equal, combine=combine, policy=policy)
        self._updates = updates
        self._calendar_days = calendar_days
        self._width = 0

    def insert(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        self._insert(self._chunk(self._clustered(rows)), _is_young)
        young = [chunk for chunk in self._log.parts if _is_young(chunk)]
        count = sum(chunk.rows for chunk in young)
        if count >= _FEWEST_TO_DIVIDE and _SHARE_TO_DIVIDE * count > self.rows:
            self._divide(young)

    def restore(self, chunks: Sequence[Chunk]) -> None:
        super().restore(chunks)
        self._width = max((chunk.labels["width"] for chunk in chunks), default=0)

    def compact(self) -> None:
        if any(map(_is_young, self._log.parts)):
            self._log.merge_all(self._whole, _is_young)
        for day in {self._day_of(chunk) for chunk in self._log.parts if not _is_young(chunk)}:
            self._log.merge_all(self._whole, partial(self._is_of, day))

    def _insert(self, chunk: Chunk, is_near: Callable[[Chunk], bool]) -> None:
        """Adds a chunk to a partition."""
        self._log.append(chunk, self._merged, is_near)
        near = [c for c in self._log.parts if is_near(c)]
        if 2 * sum(c.labels["updates"] for c in near) <= sum(c.rows for c in near):
            return
        if len(near) == 1 and near[0] is not chunk:
            # It was merged just now, with all there is.
            whole = near[0].labeled(updates=0)
            self._log.parts = [whole if c is near[0] else c for c in self._log.parts]
        else:
            self._log.merge_all(self._whole, is_near)

    def _divide(self, young: Sequence[Chunk]) -> None:
        """Puts the young rows into their days."""
        self._log.parts = [chunk for chunk in self._log.parts if not _is_young(chunk)]
        merged = young[0] if len(young) == 1 else self._merged(young)
        if merged is None:
            return
        exp = int64(merged.table, EXP)
        self._widen(exp)
        for rows in self._by_day(merged.table, exp // self._width):
            chunk = self._labeled(rows, width=self._width, updates=self._count_updates(rows))
            self._insert(chunk, partial(self._is_of, self._day_of(chunk)))

    def _chunk(self, table: pa.Table, parts: Sequence[Chunk] = ()) -> Chunk:
        if not parts:
            return self._labeled(table, width=0, updates=self._count_updates(table))
        updates = sum(chunk.labels["updates"] for chunk in parts)
        return self._labeled(table, width=0 if _is_young(parts[0]) else self._width, updates=updates)

    def _whole(self, chunks: Sequence[Chunk]) -> Chunk | None:
        merged = self._merged(chunks)
        return None if merged is None else merged.labeled(updates=0)

    def _labeled(self, table: pa.Table, *, width: int, updates: int) -> Chunk:
        if self.keys is not None:
            return Chunk.of(table, width=width, updates=updates)
        exp = int64(table, EXP)
        if (exp[1:] < exp[:-1]).any():
            table = take(table, sort_by_time(exp))
        return Chunk.of_sorted(table, width=width, updates=updates, sorted=1)

    def _count_updates(self, table: pa.Table) -> int:
        return 0 if self._updates is None else self._updates(table)

    def _due(self, chunk: Chunk, already: int, now: int) -> tuple[pa.Table, int]:
        if not _is_sorted(chunk):
            return super()._due(chunk, already, now)
        begin, end = np.searchsorted(chunk.numbers(EXP), [already, now], side="right")
        self.touched += end - begin
        return chunk.table.slice(begin, end - begin), int(end)

    def _order_of(self, chunk: Chunk, already: int, now: int) -> ExpiryOrder | None:
        return order_of(chunk, already, now, first_spans=_FIRST_SPANS if _is_young(chunk) else 0)

    def _count_dead(self, chunk: Chunk, already: int, now: int) -> int:
        if not _is_sorted(chunk):
            return super()._count_dead(chunk, already, now)
        return int(np.searchsorted(chunk.numbers(EXP), now, side="right"))

    def _by_day(self, rows: pa.Table, day: npt.NDArray[np.int64]) -> Iterator[pa.Table]:
        number = day - day.min()
        if number.max() > np.iinfo(np.uint16).max:
            # Rows that never leave lie far behind all others.
            number = np.unique(day, return_inverse=True)[1]
        if self.keys is not None:
            # The sort must be stable to keep each day clustered; on such small integers it is a radix sort.
            rows = take(rows, np.argsort(number.astype(np.uint16), kind="stable"))
        start = 0
        for count in np.bincount(number):
            if count:
                yield rows.slice(start, count)
                start += count

    def _day_of(self, chunk: Chunk) -> int:
        """The day of a chunk, all of whose rows are of one: days only grow by joining."""
        return chunk.low // self._width

    def _is_of(self, day: int, chunk: Chunk) -> bool:
        return not _is_young(chunk) and self._day_of(chunk) == day

    def _widen(self, exp: npt.NDArray[np.int64]) -> None:
        """Doubles the width of a day until what is divided into days fits into their number."""
        finite = exp[exp < FOREVER]
        ends = [(int(finite.min()), int(finite.max()))] if len(finite) else []
        ends += [(c.low, c.high) for c in self._log.parts if c.high < FOREVER and not _is_young(c)]
        self._width = max(self._width, 1)
        if ends:
            reach = max(high for _, high in ends) - min(low for low, _ in ends)
            while reach // self._width >= self._calendar_days:
                self._width *= 2


def _is_young(chunk: Chunk) -> bool:
    return chunk.labels["width"] == 0


def _is_sorted(chunk: Chunk) -> bool:
    """Whether the rows of a chunk lie in the order of leaving."""
    return "sorted" in chunk.labels
