"""Tuples by group and time, with what any range of a group adds up to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, TS
from panes.delta.grouped import sort_by_group
from panes.delta.keys import group_rows
from panes.delta.rows import concat, int64, take, with_column
from panes.state.buffers.chunk import Chunk
from panes.synopses.ranked_tree import Places
from panes.synopses.tuple_measures import Measure

SEEN = "_seen"
"""The instant from which on a tuple is seen: its time, or later when it came late."""
GROUP = "_group"
"""The number of the group of a tuple among those of its chunk."""
_LATE = "late"
"""The label that says when the last tuple that came late was seen."""


class TimedRows:
    """A chunk of tuples, sorted by group and, within a group, by time.

    Beside each tuple lies what its measures keep. So the tuples of a group in a span of time are found by two
    binary searches, and what they add up to by a few looks more.
    """

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk

    @classmethod
    def of(cls, rows: pa.Table, keys: Sequence[str], measures: Iterable[Measure]) -> TimedRows:
        """Some tuples, at least one, with `_ts` and `_seen`, by group."""
        ts, seen = int64(rows, TS), int64(rows, SEEN)
        codes = group_rows(rows, keys).codes if keys else np.zeros(len(ts), np.int64)
        order = sort_by_group(codes, ts)
        late = seen[seen > ts]
        table = with_column(take(rows, order), GROUP, codes[order])
        made = cls(Chunk.of(table, TS, **{_LATE: int(late.max()) if len(late) else BEGINNING}))
        return made.with_measures(measures)

    @classmethod
    def as_one(
        cls,
        parts: Sequence[TimedRows],
        columns: Sequence[str],
        keys: Sequence[str],
        measures: Iterable[Measure],
    ) -> TimedRows:
        """The tuples of several chunks in one; `columns` are those of the tuples themselves."""
        return cls.of(
            concat([part.chunk.table.select([*columns, TS, SEEN]) for part in parts]), keys, measures
        )

    @property
    def rows(self) -> int:
        return self.chunk.rows

    @property
    def low(self) -> int:
        """The time of the oldest tuple."""
        return self.chunk.low

    @property
    def high(self) -> int:
        return self.chunk.high

    def with_measures(self, measures: Iterable[Measure]) -> TimedRows:
        """The same tuples with all of these measures; the same object when it has them."""
        table = self.chunk.table
        for measure in measures:
            if measure.marker not in table.column_names:
                for name, values in measure.columns(table).items():
                    table = table.append_column(name, pa.array(values))
        is_same = table is self.chunk.table
        return self if is_same else TimedRows(Chunk.of(table, TS, **self.chunk.labels))

    def seen_at(
        self, now: int, columns: Sequence[str], keys: Sequence[str], measures: Iterable[Measure]
    ) -> TimedRows | None:
        """Those of its tuples that are seen at an instant, or are later than it; None when there are none.

        That is the chunk itself, unless one came late and is seen after the instant. There is none such when `now`
        is the clock after an epoch that moved it on.
        """
        if self.chunk.labels[_LATE] <= now:
            return self
        ts, seen = self._ts, int64(self.chunk.table, SEEN)
        rows = self.chunk.table.select([*columns, TS, SEEN]).filter(pa.array((seen <= now) | (seen == ts)))
        return TimedRows.of(rows, keys, measures) if rows.num_rows else None

    def ranges(self, since: int, until: int) -> tuple[Places, Places]:
        """Where the tuples of each group that have any with `since <= ts <= until` begin and end."""
        begins, ends = self._groups[:-1], self._groups[1:]
        if since > self.low:
            begins = self._first_from(since)
        if until < self.high:
            ends = self._first_from(until + 1)
        some = begins < ends
        return begins[some], ends[some]

    @cached_property
    def _groups(self) -> Places:
        """Where each group begins, and the last one ends."""
        groups = int64(self.chunk.table, GROUP)
        bounds: Places = np.searchsorted(groups, np.arange(int(groups[-1]) + 2))
        return bounds

    def _first_from(self, instant: int) -> Places:
        """The place of the first tuple of each group at an instant or later, or where the group ends."""
        ts, low, high = self._ts, self._groups[:-1].copy(), self._groups[1:].copy()
        if len(low) == 1:
            found: Places = np.searchsorted(ts, [instant])
            return found
        while (is_open := low < high).any():
            middle = (low + high) >> 1
            is_before = is_open & (ts[np.minimum(middle, len(ts) - 1)] < instant)
            low = np.where(is_before, middle + 1, low)
            high = np.where(is_open & ~is_before, middle, high)
        return low

    @cached_property
    def _ts(self) -> Places:
        return int64(self.chunk.table, TS)
