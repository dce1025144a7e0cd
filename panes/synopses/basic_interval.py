"""The basic interval synopsis: the rows of b disjoint panes. A window is the sum of up to b of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.delta import TS
from panes.delta.rows import int64, take, where
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy
from panes.synopses.cumulative_sums import cumulative_sums
from panes.synopses.layout import UPTO, Layout

_LATE = "late"
PANE = "pane"
"""Labels of chunks: whether their rows are seen later than the end of their pane, and how long a pane is."""


def pane_of(chunks: Iterable[Chunk]) -> int:
    """The length of a pane, which chunks of panes and of intervals say; any where there are none."""
    return next((chunk.labels[PANE] for chunk in chunks), 1)


@dataclass(frozen=True)
class Probed:
    """The partial rows of a window, and how many intervals were read for them."""

    rows: pa.Table
    probes: int


class BasicInterval:
    """The panes of a stream, in the order of time.

    Rows that came late are kept apart: they are seen from a later instant on than the others of their pane, so
    they are in no sum that is computed beforehand.

    State: a row per pane and group.
    Cost: of a window, the rows of its panes. Windows of any lengths that end together are read in one pass from
        the youngest pane to the oldest, which gives each of them on its way: as many panes as the longest has.
    """

    def __init__(
        self,
        layout: Layout,
        pane_us: int,
        chunks: Iterable[Chunk] = (),
        wanted: Callable[[pa.Table], pa.Table] = lambda rows: rows,
    ) -> None:
        """`layout` may have less columns than the rows that are there: those that a reader needs. `wanted` leaves
        rows out that a reader does not need."""
        self.layout = layout
        self.wanted = wanted
        self._log = Log(MergePolicy(), chunks)
        self.pane_us = pane_us

    @property
    def chunks(self) -> list[Chunk]:
        return self._log.parts

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self._log.parts)

    def add(self, rows: pa.Table) -> None:
        """Takes in rows of any panes."""
        is_late = int64(rows, TS) > int64(rows, UPTO)
        for late in (0, 1):
            mine = take(rows, where(is_late == late))
            if mine.num_rows:
                self._log.append(self._chunk([mine], late), self._combine, lambda c: c.labels[_LATE] == late)  # noqa: B023  called at once

    def drop_through(self, upto: int) -> None:
        """Forgets the panes that end at an instant or before, as far as whole chunks allow."""
        self._log.drop_through(upto)

    def on_time(self, after: int, upto: int) -> pa.Table:
        """The rows of the panes that end after an instant and not after another one, without those that came
        late."""
        return self._between(after, upto, (0,))

    def late(self, after: int, upto: int, seen: int) -> pa.Table:
        """Of the rows that came late, those of some panes that are seen at an instant."""
        rows = self._between(after, upto, (1,))
        return take(rows, where(int64(rows, TS) <= seen))

    def seen(self, after: int, upto: int, seen: int) -> pa.Table:
        """The rows of some panes that are seen at an instant."""
        rows = self._between(after, upto, (0,))
        if upto > seen:
            rows = take(rows, where(int64(rows, TS) <= seen))
        return pa.concat_tables([rows, self.late(after, upto, seen)])

    def window(self, at: int, range_us: int) -> Probed:
        """What a window holds that ends at an instant, merged by group."""
        (found,) = self.windows(at, [range_us])
        return found

    def windows(self, at: int, ranges: Sequence[int]) -> list[Probed]:
        """What windows of several lengths hold that end together, in the order in which they are given: one pass
        over the panes, from the youngest to the oldest. `probes` of each is how far the pass had come by then."""
        lengths = sorted(set(ranges))
        if not lengths:
            return []
        rows = self.seen(at - lengths[-1], at, at)
        found = [self.merged(rows)] if len(lengths) == 1 else self._together(rows, at, lengths)
        probed = {
            range_us: Probed(merged, -(-range_us // self.pane_us))
            for range_us, merged in zip(lengths, found, strict=True)
        }
        return [probed[range_us] for range_us in ranges]

    def _together(self, rows: pa.Table, at: int, lengths: Sequence[int]) -> list[pa.Table]:
        """The rows of several windows, shortest first, out of those of the longest."""
        sums = cumulative_sums(self.layout, rows, at, lengths)
        if sums is not None:
            return sums
        age, before, merged, found = at - int64(rows, UPTO), 0, None, []
        for length in lengths:
            more = self.merged(take(rows, where((before <= age) & (age < length))))
            merged = more if merged is None else self.layout.merged(pa.concat_tables([merged, more]))
            found.append(merged)
            before = length
        return found

    def merged(self, rows: pa.Table) -> pa.Table:
        """The rows merged by group, of whatever panes they are."""
        return self.layout.merged(rows.drop_columns([TS, UPTO]))

    def _between(self, after: int, upto: int, kinds: Sequence[int]) -> pa.Table:
        names = self.layout.schema.names
        parts = [self.layout.schema.empty_table()]
        for chunk in self._log.parts:
            if chunk.labels[_LATE] in kinds and chunk.low <= upto and chunk.high > after:
                ends = int64(chunk.table, UPTO)
                first, last = np.searchsorted(ends, (after, upto), side="right")
                parts.append(self.wanted(chunk.table.select(names).slice(int(first), int(last - first))))
        return pa.concat_tables(parts)

    def _combine(self, chunks: Sequence[Chunk]) -> Chunk:
        return self._chunk([chunk.table for chunk in chunks], chunks[0].labels[_LATE])

    def _chunk(self, tables: Sequence[pa.Table], late: int) -> Chunk:
        rows = self.layout.merged(pa.concat_tables(tables))
        order = np.argsort(int64(rows, UPTO), kind="stable")
        return Chunk.of_sorted(take(rows, order), UPTO, **{_LATE: late, PANE: self.pane_us})
