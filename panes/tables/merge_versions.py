"""Merging the versions of a table, and settling those that nobody can tell apart any more.

The segments of a table are the parts of a log (`state/log.py`), and are merged by its policy. Whatever took effect
before the horizon, for every stream, is settled when it is merged: nobody asks what the table was then, so rows
add up to what was left of them, and take effect always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import BEGINNING, WEIGHT
from panes.delta.rows import concat, int64, take, where, with_column
from panes.errors import StateError
from panes.plan.schema import Schema
from panes.state.log import Log, MergePolicy
from panes.state.storage.locations import Location
from panes.state.storage.segments import SegmentEntry
from panes.tables.net_rows import net_rows
from panes.tables.table_manifest import TableEntry
from panes.tables.table_versions import Versions, read_versions
from panes.tables.version_clocks import AT, EPOCH, SETTLED, named

_POLICY = MergePolicy(fan_in=8, growth=4)


@dataclass(frozen=True)
class _Group:
    """Segments that follow each other, to become one when there are several."""

    segments: tuple[SegmentEntry, ...]

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    @property
    def low(self) -> int:
        return min(segment.low for segment in self.segments)

    @property
    def high(self) -> int:
        return max(segment.high for segment in self.segments)


def merge_versions(
    folder: Location, entry: TableEntry, columns: Schema, horizons: Mapping[int, int], name: str
) -> TableEntry:
    """The same versions in fewer segments; those that are new have names that begin with `name`.

    `horizons` has for each stream the instant before which nobody asks. Segments of which one cannot be read stay
    as they are: whoever reads it is told so.
    """
    segments: list[SegmentEntry] = []
    settled_to = entry.settled_to
    for number, group in enumerate(_grouped(entry.segments)):
        read = _read(folder, group, columns)
        if read is None:
            segments += group.segments
            continue
        versions, to = settled(read, horizons)
        settled_to = max(settled_to, to)
        if versions.rows.num_rows:
            segments.append(versions.write(folder, f"{name}-{number:03d}.arrow"))
    return TableEntry(tuple(segments), settled_to)


def _read(folder: Location, group: _Group, columns: Schema) -> Versions | None:
    """The versions of several segments; None when there is one segment, or one of them cannot be read."""
    if len(group.segments) == 1:
        return None
    try:
        return read_versions(folder, group.segments, columns)
    except StateError:
        return None


def settled(versions: Versions, horizons: Mapping[int, int]) -> tuple[Versions, int]:
    """Versions of which those before the horizon are settled, and to which instant they are, by the clock of the
    furthest stream."""
    rows = versions.rows
    is_settled = _are_before(versions, horizons)
    if not is_settled.any():
        return versions, BEGINNING
    old, young = take(rows, where(is_settled)), take(rows, where(~is_settled))
    was_young = int64(old, EPOCH) != SETTLED
    instants = versions.clocks.instants(take(old, where(was_young)), frozenset())
    old = with_column(old, EPOCH, np.full(old.num_rows, SETTLED))
    old = old.set_column(old.column_names.index(AT), AT, pa.nulls(old.num_rows, pa.int64()))
    old = net_rows(old.select([*(n for n in rows.column_names if n != WEIGHT), WEIGHT]))
    together = concat([young, old.select(rows.column_names)])
    return Versions(together, versions.clocks), int(instants.max()) if len(instants) else BEGINNING


def _are_before(versions: Versions, horizons: Mapping[int, int]) -> npt.NDArray[np.bool_]:
    """Which rows took effect before the horizon of every stream."""
    clocks, rows = versions.clocks, versions.rows
    epochs, places = np.unique(int64(rows, EPOCH), return_inverse=True)
    is_before = [
        epoch == SETTLED
        or all(clocks.effective(int(epoch), {stream}) <= horizon for stream, horizon in horizons.items())
        for epoch in epochs
    ]
    least = min(horizons.values(), default=BEGINNING)
    return np.array(is_before, np.bool_)[places] & (named(rows) <= least)


def _grouped(segments: Sequence[SegmentEntry]) -> list[_Group]:
    """The segments in their order, those together that are to become one: the log is played through from the
    first, and comes to rest with those that are there already."""
    log: Log[_Group] = Log(_POLICY)
    for segment in segments:
        log.append(_Group((segment,)), _together)
    return log.parts


def _together(groups: Sequence[_Group]) -> _Group:
    return _Group(tuple(segment for group in groups for segment in group.segments))
