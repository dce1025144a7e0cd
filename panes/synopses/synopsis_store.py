"""The state of a synopsis on one shard: its panes, and what is computed from them to read windows faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS
from panes.delta.rows import int64, take, where, with_column, without
from panes.plan.windows import RangeWindow
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import INTERVALS, PANES, SUMS
from panes.synopses.basic_interval import BasicInterval, Probed, pane_of
from panes.synopses.interval import Interval
from panes.synopses.layout import UPTO, Layout
from panes.synopses.running import Running


class SynopsisStore:
    """The rows of a synopsis, for windows of any length up to the longest that it is kept for.

    State: that of the panes, once more for intervals or sums. It does not grow with the number of queries.
    """

    def __init__(
        self,
        layout: Layout,
        pane_us: int | None = None,
        chunks: Mapping[str, Sequence[Chunk]] | None = None,
        wanted: Callable[[pa.Table], pa.Table] = lambda rows: rows,
    ) -> None:
        """`layout` may have less columns than the rows that are there: those that a reader needs. Without the
        length of a pane it is that of the rows that are there. `wanted` leaves rows out that a reader does not
        need."""
        chunks = chunks or {}
        if pane_us is None:
            # Panes leave before the last of the intervals that cover them.
            pane_us = pane_of([*chunks.get(PANES, ()), *chunks.get(INTERVALS, ())])
        self.panes = BasicInterval(layout, pane_us, chunks.get(PANES, ()), wanted)
        self._intervals = Interval(self.panes, chunks.get(INTERVALS, ()))
        self._sums = Running(self.panes, chunks.get(SUMS, ()))

    @property
    def chunks(self) -> dict[str, list[Chunk]]:
        """What to keep, by buffer."""
        return {PANES: self.panes.chunks, INTERVALS: self._intervals.chunks, SUMS: self._sums.chunks}

    @property
    def rows(self) -> int:
        return self.panes.rows

    def add(self, rows: pa.Table, longest: int) -> None:
        """Takes in partial rows with the lifetimes that they have in the longest window."""
        ends = int64(rows, EXP) - longest
        self.panes.add(without(with_column(rows, UPTO, ends), EXP).select(self.panes.layout.schema.names))

    def complete(self, form: str, since: int, clock: int, longest: int) -> None:
        """Computes what is kept beside the panes that have ended in a span."""
        if form == "interval":
            self._intervals.complete(since, clock, longest)
        elif form == "running":
            self._sums.complete(since, clock, longest)

    def expire(self, since: int, reach: int) -> None:
        """Forgets panes that no window shows at an instant after `since`: those that ended by `reach` before."""
        if since > BEGINNING + reach:
            for part in (self.panes, self._intervals, self._sums):
                part.drop_through(since - reach)

    def window(self, at: int, range_us: int) -> Probed:
        """The partial rows of a window that ends at an instant, merged by group."""
        if self._sums.chunks:
            return self._sums.window(at, range_us)
        if self._intervals.chunks:
            return self._intervals.window(at, range_us)
        return self.panes.window(at, range_us)

    def windows(self, at: int, ranges: Sequence[int]) -> list[Probed]:
        """The partial rows of windows that end together, in the order of their lengths as given.

        Each length is read once. Panes are read in one pass for all of them; intervals and sums length by length,
        as no two windows have the same ones.
        """
        if not self._sums.chunks and not self._intervals.chunks:
            return self.panes.windows(at, ranges)
        found = {range_us: self.window(at, range_us) for range_us in set(ranges)}
        return [found[range_us] for range_us in ranges]

    def lifetimes(self, window: RangeWindow, since: int, clock: int) -> pa.Table:
        """The rows that a window holds at `since`, and those that enter it up to `clock`, with the times at which
        they enter and leave (`_ts`, `_exp`)."""
        slide = window.slide_us or 1
        after = BEGINNING if since == BEGINNING else since - window.range_us - slide
        rows = self.panes.seen(after, clock, FOREVER)
        enters, leaves = window.lifetime(int64(rows, UPTO), int64(rows, TS))
        rows = with_column(with_column(without(rows, UPTO), TS, enters), EXP, leaves)
        is_wanted: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
            (enters < leaves) & (leaves > since) & (enters <= clock)
        )
        return take(rows, where(is_wanted))
