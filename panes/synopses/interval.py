"""The interval synopsis: panes, and what every two neighbors, every four, every eight … of them come to.

With panes of length s, an interval of level k covers 2^k panes and ends at a multiple of 2^k s. Those of the
levels up to log2 b are b/2 + b/4 + … beside the b panes: 2b intervals in all. A window is at most two of each
level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, TS
from panes.delta.rows import int64, take, with_column
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy
from panes.synopses.basic_interval import PANE, BasicInterval, Probed
from panes.synopses.layout import UPTO

LEVEL = "level"
"""The label that says how many panes the rows of a chunk cover: two to this power."""


class Interval:
    """The intervals of two panes and more, over the panes of a basic interval synopsis.

    An interval is computed once, when the clock reaches its end: a pane that has ended does not change, because
    what comes later is seen later.

    State: at most as many rows again as the panes have.
    Cost: of a window, the rows of at most 2 log2 b intervals; of a pane that ends, the rows of one interval on
        average, and of log2 b at most.
    """

    def __init__(self, panes: BasicInterval, chunks: Iterable[Chunk] = ()) -> None:
        self._panes = panes
        self._log = Log(MergePolicy(), chunks)

    @property
    def chunks(self) -> list[Chunk]:
        return self._log.parts

    def complete(self, since: int, clock: int, longest: int) -> None:
        """Adds the intervals that end after `since` and up to `clock`, for windows no longer than `longest`."""
        level, width = 1, 2 * self._panes.pane_us
        while width <= longest:
            last = clock - clock % width
            first = BEGINNING if since == BEGINNING else since - since % width
            rows = self._rows(level - 1, first, last)
            if rows.num_rows:
                ends = int64(rows, UPTO)
                ends = ends + -ends % width
                rows = with_column(with_column(rows, UPTO, ends), TS, ends)
                self._append(self._panes.layout.merged(rows), level)
            level, width = level + 1, 2 * width

    def drop_through(self, upto: int) -> None:
        """Forgets the intervals that end at an instant or before, as far as whole chunks allow."""
        self._log.drop_through(upto)

    def window(self, at: int, range_us: int) -> Probed:
        """What a window holds that ends at an instant, merged by group."""
        parts = [self._panes.late(at - range_us, at, at)]
        for level, end in intervals_of(at - range_us, at, self._panes.pane_us):
            parts.append(self._rows(level, end - 1, end))
        return Probed(self._panes.merged(pa.concat_tables(parts)), len(parts) - 1)

    def _rows(self, level: int, after: int, upto: int) -> pa.Table:
        """The rows of the intervals of a level that end in a span."""
        if level == 0:
            return self._panes.on_time(after, upto)
        schema = self._panes.layout.schema
        parts = [schema.empty_table()]
        for chunk in self._log.parts:
            if chunk.labels[LEVEL] == level and chunk.low <= upto and chunk.high > after:
                first, last = np.searchsorted(int64(chunk.table, UPTO), (after, upto), side="right")
                rows = chunk.table.select(schema.names).slice(int(first), int(last - first))
                parts.append(self._panes.wanted(rows))
        return pa.concat_tables(parts)

    def _append(self, rows: pa.Table, level: int) -> None:
        self._log.append(
            self._chunk([rows], level),
            lambda chunks: self._chunk([chunk.table for chunk in chunks], level),
            lambda chunk: chunk.labels[LEVEL] == level,
        )

    def _chunk(self, tables: Sequence[pa.Table], level: int) -> Chunk:
        rows = pa.concat_tables(tables)
        order = np.argsort(int64(rows, UPTO), kind="stable")
        return Chunk.of_sorted(take(rows, order), UPTO, **{LEVEL: level, PANE: self._panes.pane_us})


def intervals_of(after: int, upto: int, pane_us: int) -> Iterator[tuple[int, int]]:
    """The intervals that cover a window, as few as possible: the level and the end of each.

    >>> list(intervals_of(1, 8, 1))
    [(0, 2), (1, 4), (2, 8)]
    """
    at = after
    while at < upto:
        level = 0
        while at % (pane_us << (level + 1)) == 0 and at + (pane_us << (level + 1)) <= upto:
            level += 1
        at += pane_us << level
        yield level, at
