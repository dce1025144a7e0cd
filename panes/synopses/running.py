"""The running synopsis: per pane and group, the sums of all tuples up to there. A window is one less another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from panes.aggregates.linear import ROWS
from panes.delta.delta import BEGINNING
from panes.delta.rows import int64, take
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy
from panes.synopses.basic_interval import BasicInterval, Probed
from panes.synopses.group_numbers import group_numbers
from panes.synopses.layout import UPTO

_BORN, _ACTIVE = "_born", "_active"
"""The pane from which on the tuples of a group are summed, and the last one that had any."""
_MOST = float(2**62)
"""A sum that is smaller can be subtracted from another without a loss."""
_IS_END = "_is_end"

Ints = npt.NDArray[np.int64]


class Running:
    """Sums of integers that only grow longer, over the panes of a basic interval synopsis.

    At the end of every pane that has rows there is a row for every group that had one within the longest window.
    A group that had none is summed anew when it comes again, so those of long ago are not remembered. Sums that
    would no longer fit are begun anew from the panes that are there; where these do not fit either, there are
    none, and windows are read pane by pane.

    State: a row per pane and group, also of groups that the pane has no row of.
    Cost: of a window, two rows per group; of a pane that ends, a row per group.
    """

    def __init__(self, panes: BasicInterval, chunks: Iterable[Chunk] = ()) -> None:
        self._panes = panes
        self._log = Log(MergePolicy(), chunks)

    @property
    def chunks(self) -> list[Chunk]:
        return self._log.parts

    def complete(self, since: int, clock: int, longest: int) -> None:
        """Adds the sums at the panes that end after `since` and up to `clock`, for windows up to `longest`."""
        rows = None
        if self._log.parts:
            came = self._panes.on_time(since, clock)
            if not came.num_rows:
                return
            rows = _Sums(self._panes, came, self._sums_at(since), longest).rows()
        if rows is None:
            self._log.parts = []
            came = self._panes.on_time(BEGINNING, clock)
            rows = _Sums(self._panes, came, None, longest).rows() if came.num_rows else None
        if rows is not None:
            self._log.append(_as_one([Chunk.of_sorted(rows, UPTO)]), _as_one)

    def drop_through(self, upto: int) -> None:
        """Forgets the sums at panes before an instant, as far as whole chunks allow, but for the last ones."""
        old = [chunk for chunk in self._log.parts if chunk.high <= upto]
        self._log.parts = old[-1:] + self._log.parts[len(old) :]

    def window(self, at: int, range_us: int) -> Probed:
        """What a window holds that ends at an instant, merged by group."""
        begin = at - range_us
        if not self._log.parts:
            return self._panes.window(at, range_us)
        to_end, to_begin = (self._sums_at(instant) for instant in (at, begin))
        late = self._panes.late(begin, at, at)
        partials = [partial.name for partial in self._panes.layout.partials]
        both = pl.concat(
            [
                pl.DataFrame(to_end).with_columns(pl.lit(True).alias(_IS_END)),
                pl.DataFrame(to_begin).with_columns(
                    [-pl.col(name) for name in partials] + [pl.lit(False).alias(_IS_END)]
                ),
            ]
        )
        keys = list(self._panes.layout.keys)
        sums = both.group_by([*keys, _BORN], maintain_order=True).agg(
            [pl.col(name).sum() for name in partials] + [pl.col(_IS_END).any()]
        )
        held = sums.filter(pl.col(_IS_END) & (pl.col(ROWS) > 0)).to_arrow()
        window = self._panes.merged(late)
        held = held.select(window.column_names).cast(window.schema)
        return Probed(self._panes.layout.merged(pa.concat_tables([held, window])), 2)

    def _sums_at(self, instant: int) -> pa.Table:
        """The sums up to an instant: those at the last pane that had rows by then."""
        before = [chunk for chunk in self._log.parts if chunk.low <= instant]
        if not before:
            return self._log.parts[-1].table.slice(0, 0)
        table = before[-1].table
        ends = int64(table, UPTO)
        last = int(np.searchsorted(ends, instant, side="right"))
        first = int(np.searchsorted(ends, ends[last - 1]))
        return self._panes.wanted(table.slice(first, last - first))


def _as_one(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks that follow each other in time."""
    return Chunk.of_sorted(pa.concat_tables([chunk.table for chunk in chunks]), UPTO)


class _Sums:
    """The sums at some panes: those before, and what the rows of the panes add."""

    def __init__(self, panes: BasicInterval, came: pa.Table, base: pa.Table | None, longest: int) -> None:
        layout = panes.layout
        self._names = [partial.name for partial in layout.partials]
        self._keys = list(layout.keys)
        self._came, self._base, self._longest = came, base, longest
        own = came.select(self._keys)
        known = own.slice(0, 0) if base is None else base.select(self._keys)
        self._known = known.num_rows
        self._all = pa.concat_tables([known, own])
        self._group, self._example = group_numbers(self._all, self._known + came.num_rows)
        self._ends, self._pane = np.unique(int64(came, UPTO), return_inverse=True)

    def rows(self) -> pa.Table | None:
        """A row per pane and group; None when a sum does not fit."""
        groups, panes = len(self._example), len(self._ends)
        before, came = self._group[: self._known], self._group[self._known :]
        active = np.full((groups, panes + 1), BEGINNING // 2)
        born = np.zeros((groups, panes + 1), np.int64)
        if self._base is not None:
            active[before, 0], born[before, 0] = int64(self._base, _ACTIVE), int64(self._base, _BORN)
        active[came, self._pane + 1] = self._ends[self._pane]
        active = np.maximum.accumulate(active, axis=1)
        is_there = active[:, 1:] == self._ends
        begins = is_there & (self._ends - active[:, :-1] >= self._longest)
        place = np.where(begins, np.arange(panes), -1)
        place = np.maximum.accumulate(place, axis=1)
        born[:, 1:] = np.where(place >= 0, self._ends[place], born[:, :1])
        sums: dict[str, Ints] = {}
        for name in self._names:
            whole = np.zeros((groups, panes + 1), np.int64)
            estimate = np.zeros((groups, panes + 1))
            amounts = self._came.column(name).fill_null(0).to_numpy()
            if self._base is not None:
                whole[before, 0] = int64(self._base, name)
            np.add.at(whole, (came, self._pane + 1), amounts)
            np.add.at(estimate, (came, self._pane + 1), np.abs(amounts.astype(np.float64)))
            estimate[:, 0] = np.abs(whole[:, 0].astype(np.float64))
            if estimate.sum(axis=1).max(initial=0.0) >= _MOST:
                return None
            whole = np.cumsum(whole, axis=1)
            at_birth = np.take_along_axis(whole, np.maximum(place, 0), axis=1)
            sums[name] = whole[:, 1:] - np.where(place >= 0, at_birth, 0)
        is_kept = self._ends - active[:, 1:] < self._longest
        pane, group = np.nonzero(is_kept.T)
        columns = {name: self._all.column(name) for name in self._keys}
        table = take(pa.table(columns), self._example[group]) if self._keys else None
        data = {name: table.column(name) for name in self._keys} if table is not None else {}
        data |= {name: pa.array(values[group, pane]) for name, values in sums.items()}
        data |= {_BORN: pa.array(born[:, 1:][group, pane]), _ACTIVE: pa.array(active[:, 1:][group, pane])}
        return pa.table({**data, UPTO: pa.array(self._ends[pane])})
