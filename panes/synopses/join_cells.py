"""The cells of a join of two streams: partial rows by the pane of the left tuple and the pane of the right one.

Windows of any lengths on both sides are the sum of the cells whose left pane is in the left window and whose right
pane is in the right one. Three values per old interval in place of cells, as in figure 8.4 of Golab's thesis, do
not tell pairs apart whose tuples are both in old panes: with 8 panes the windows (6, 8) and (8, 6) come out wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, Instants
from panes.delta.rows import int64, take, where, with_column, without
from panes.plan.windows import RangeWindow, round_up
from panes.state.buffers.chunk import Chunk
from panes.synopses.basic_interval import BasicInterval, Probed, pane_of
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
        these are the rows that the windows hold. Windows of any lengths that end together are read in one pass:
        it takes the rows of the longest.
    """

    def __init__(self, layout: Layout, pane_us: int | None = None, chunks: Iterable[Chunk] = ()) -> None:
        """`layout` has the columns of the group-by, or less than the rows that are there: those that a reader
        needs. Without the length of a pane it is that of the rows that are there."""
        self._layout = layout
        schema = layout.schema
        for name in _ENDS:
            schema = schema.append(pa.field(name, pa.int64()))
        chunks = list(chunks)
        length = pane_of(chunks) if pane_us is None else pane_us
        by_ends = replace(layout, keys=(*layout.keys, *_ENDS), schema=schema)
        self._panes = BasicInterval(by_ends, length, chunks)

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
        left, right = windows
        (found,) = self.windows(at, [(left.range_us, right.range_us)])
        return found.rows

    def windows(self, at: int, ranges: Sequence[tuple[int, int]]) -> list[Probed]:
        """What windows of several lengths hold that end together, merged by group, in the order in which they are
        given; of each the lengths on the left and on the right.

        The cells are read once for all of them. Those that are in the same windows are added up first, then each
        window is the largest one within it that is known already, and what is in it beside that. `probes` of each
        is the number of panes of the longer side.
        """
        rows = self._panes.seen(at - max(map(max, ranges)), at, at)
        classes = []
        for side, name in enumerate(_ENDS):
            lengths = np.array(sorted({pair[side] for pair in ranges}), np.int64)
            place = np.searchsorted(lengths, at - int64(rows, name), side="right")
            # The shortest window that the pane is in: longer ones have it, too. 0 is in none.
            classes.append(np.append(lengths, 0)[place])
        there = where((classes[0] > 0) & (classes[1] > 0))
        cells = without(rows, TS, UPTO)
        for name, shortest in zip(_ENDS, classes, strict=True):
            cells = with_column(cells, name, shortest)
        cells = self._panes.layout.merged(take(cells, there))
        left, right = (int64(cells, name) for name in _ENDS)
        sums = without(cells, *_ENDS)
        found: dict[tuple[int, int], pa.Table] = {}
        for pair in sorted(set(ranges), key=sum):
            is_more = (left <= pair[0]) & (right <= pair[1])
            parts = []
            within = [known for known in found if known[0] <= pair[0] and known[1] <= pair[1]]
            if within:
                largest = max(within, key=sum)
                is_more &= (left > largest[0]) | (right > largest[1])
                parts.append(found[largest])
            found[pair] = self._layout.merged(pa.concat_tables([*parts, take(sums, where(is_more))]))
        return [Probed(found[pair], -(-max(pair) // self._panes.pane_us)) for pair in ranges]

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
