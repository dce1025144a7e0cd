"""The cells of a join of two streams: partial rows by the pane of the left tuple and the pane of the right one.

Windows of any lengths on both sides are the sum of the cells whose left pane is in the left window and whose right
pane is in the right one. Three values per old interval in place of cells, as in figure 8.4 of Golab's thesis, do
not tell pairs apart whose tuples are both in old panes: with 8 panes the windows (6, 8) and (8, 6) come out wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, Instants
from panes.delta.rows import int64, take, where, with_column, without
from panes.plan.windows import RangeWindow, round_up
from panes.state.buffers.chunk import Chunk
from panes.synopses.basic_interval import BasicInterval
from panes.synopses.layout import UPTO, Layout

LEFT_UPTO, RIGHT_UPTO = "_left_upto", "_right_upto"
"""The ends of the panes of the two tuples."""
_ENDS = LEFT_UPTO, RIGHT_UPTO

Windows = tuple[RangeWindow, RangeWindow]
"""Of the left stream and of the right one; both slide alike."""


class JoinCells:
    """Partial rows of pairs, in the order of the earlier of the two panes: that one leaves first.

    State: a row per cell and group, and per instant from which on its pairs are seen.
    Cost: of windows, the rows of the cells whose earlier pane is in the longer one. Where both are equally long,
        these are the rows that the windows hold.
    """

    def __init__(self, layout: Layout, pane_us: int | None = None, chunks: Iterable[Chunk] = ()) -> None:
        """`layout` has the columns of the group-by, or less than the rows that are there: those that a reader
        needs. Without the length of a pane it is that of the rows that are there."""
        self._layout = layout
        schema = layout.schema
        for name in _ENDS:
            schema = schema.append(pa.field(name, pa.int64()))
        self._panes = BasicInterval(
            replace(layout, keys=(*layout.keys, *_ENDS), schema=schema), pane_us, chunks
        )

    @property
    def chunks(self) -> list[Chunk]:
        return self._panes.chunks

    @property
    def rows(self) -> int:
        return self._panes.rows

    def add(self, rows: pa.Table, left: Instants, right: Instants, seen: Instants) -> None:
        """Takes in partial rows with the times of both tuples, and the instants from which on they are seen."""
        pane_us = self._panes.pane_us
        ends = round_up(left, pane_us), round_up(right, pane_us)
        columns = {
            LEFT_UPTO: ends[0],
            RIGHT_UPTO: ends[1],
            UPTO: np.minimum(*ends),
            TS: round_up(seen, pane_us),
        }
        for name, values in columns.items():
            rows = with_column(rows, name, values)
        self._panes.add(rows.select(self._panes.layout.schema.names))

    def expire(self, since: int, reaches: tuple[int, int]) -> None:
        """Forgets cells that no windows show at an instant after `since`, as far as whole chunks allow: those of
        which the earlier pane ended by the longer of the reaches before."""
        reach = max(reaches)
        if since > BEGINNING + reach:
            self._panes.drop_through(since - reach)

    def window(self, at: int, windows: Windows) -> pa.Table:
        """The partial rows of windows that end at an instant, merged by group."""
        ranges = [window.range_us for window in windows]
        rows = self._panes.seen(at - max(ranges), at, at)
        if ranges[0] != ranges[1]:
            left, right = (
                int64(rows, name) > at - length for name, length in zip(_ENDS, ranges, strict=True)
            )
            rows = take(rows, where(left & right))
        return self._layout.merged(without(rows, TS, UPTO, *_ENDS))

    def lifetimes(self, windows: Windows, since: int, clock: int) -> pa.Table:
        """The rows that windows hold at `since`, and those that enter them up to `clock`, with the times at which
        they enter and leave (`_ts`, `_exp`)."""
        reach = max(window.retained() for window in windows)
        rows = self._panes.seen(BEGINNING if since == BEGINNING else since - reach, clock, FOREVER)
        seen = int64(rows, TS)
        left, right = (w.lifetime(int64(rows, name), seen) for w, name in zip(windows, _ENDS, strict=True))
        enters, leaves = np.maximum(left[0], right[0]), np.minimum(left[1], right[1])
        rows = with_column(with_column(without(rows, UPTO, *_ENDS), TS, enters), EXP, leaves)
        return take(rows, where((enters < leaves) & (leaves > since) & (enters <= clock)))
