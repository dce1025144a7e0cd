"""One-time aggregates over one window, file by file: the partial sums of each file, and what they give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from panes.aggregates.partials import partial_schema
from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING, EXP, TS
from panes.delta.rows import int64, with_column
from panes.history.history_file import CAME, EPOCH, HistoryFile
from panes.history.parts import read_rows
from panes.onetime.contents import leaves
from panes.onetime.run_sql import run_sql
from panes.onetime.scanned_tables import without_zone
from panes.operators.input import Input
from panes.operators.lower import lower
from panes.operators.pre_aggregate import PreAggregate
from panes.plan import nodes
from panes.plan.own_calls import own_calls
from panes.plan.stated_error import stated_error
from panes.plan.stream import Stream
from panes.plan.to_sql import quoted, to_sql
from panes.plan.types import INTERVAL
from panes.plan.walk import walk
from panes.plan.windows import BeginEndWindow, UnboundedWindow

_PARTIALS = "partials"
_GROUPS = "_groups"
_ROW_BY_ROW = (nodes.Select, nodes.Project, nodes.Unnest)
_AT = 0
"""The time of all rows while they are summed: which of them the window holds has been decided before."""


class Bounds(NamedTuple):
    """What a window holds at an instant: tuples with `since <= ts <= until` that were seen up to `seen`."""

    since: int
    until: int
    seen: int

    def holds(self, file: HistoryFile) -> bool:
        """Whether some rows of a file may be in the window."""
        return file.max_ts >= self.since and file.min_ts <= self.until and file.first_seen <= self.seen

    def holds_all(self, file: HistoryFile) -> bool:
        """Whether all rows of a file are: then they are until the first of them leaves."""
        return file.min_ts >= self.since and file.max_ts <= self.until and file.last_seen <= self.seen


class _Read(NamedTuple):
    """The partial rows of a file, and what the window held when it was read."""

    rows: pa.Table
    bounds: Bounds
    is_whole: bool


@dataclass
class FilePartials:
    """The partial sums of the files that were read, of a plan with a group-by over one time window.

    A file that lies in the window entirely is read once, however far the window moves on, and is dropped when its
    first row leaves. Only files at the ends of the window are read again when it has moved.
    """

    plan: nodes.Node
    group_by: nodes.GroupBy
    window: nodes.Window
    scan: nodes.StreamScan
    stream: Stream
    files_read: int = 0
    """How many times a file was read."""
    _read: dict[object, _Read] = field(default_factory=dict)

    def bounds(self, now: int) -> Bounds:
        spec = self.window.spec
        reach = spec.reach(now)
        return Bounds(reach.since, reach.until, spec.last_slide(now))

    def unread(self, files: Iterable[HistoryFile], now: int) -> list[HistoryFile]:
        """Of some files those that are still to be read, the one last that leaves the window first: while it waits
        the window may move past it. What was read of files that have left is forgotten."""
        bounds = self.bounds(now)
        held = {file.path: file for file in files if bounds.holds(file)}
        self._read = {
            path: read
            for path, read in self._read.items()
            if path in held and (read.bounds == bounds or (read.is_whole and bounds.holds_all(held[path])))
        }
        waiting = [file for path, file in held.items() if path not in self._read]
        return sorted(waiting, key=lambda file: file.min_ts, reverse=True)

    def read(self, file: HistoryFile, now: int) -> None:
        """Sums up what the window holds of a file."""
        bounds = self.bounds(now)
        rows = read_rows(file, self.stream, [self.scan.attribute(name) for name in self.scan.schema.names])
        is_whole = bounds.holds_all(file)
        if not is_whole:
            ts = int64(rows, TS)
            is_held = (ts >= bounds.since) & (ts <= bounds.until)
            is_held &= np.maximum(ts, int64(rows, CAME)) <= bounds.seen
            rows = rows.filter(pa.array(is_held))
        rows = with_column(rows.drop_columns([CAME, EPOCH]), TS, np.full(rows.num_rows, _AT))
        below = lower(self._unbounded.child)
        delta = below.process({self.scan.stream: rows}, BEGINNING, _AT)
        sums = PreAggregate(self._unbounded, combine=True).process([delta], BEGINNING, _AT)
        self._read[file.path] = _Read(sums.table, bounds, is_whole)
        self.files_read += 1

    def answer(self) -> pa.Table:
        """The answer over the files that were read."""
        names = [*partial_schema(self._unbounded).names, TS, EXP]
        rows = (
            pa.concat_tables(read.rows.select(names) for read in self._read.values()) if self._read else None
        )
        dataflow = lower(self._unbounded, inputs={self._unbounded: Input(_PARTIALS, "partials")})
        delta = dataflow.process({} if rows is None else {_PARTIALS: rows}, BEGINNING, _AT)
        groups = contents_at(delta.table, _AT).select(self.group_by.schema.names)
        if self.plan == self.group_by:
            return groups
        columns = [
            f"{without_zone(quoted(f.name), f.type)} AS {quoted(f.name)}" for f in self.group_by.schema
        ]
        sql = to_sql(self.plan, {self.group_by: f"SELECT {', '.join(columns)} FROM {_GROUPS}"})
        return run_sql(sql, self.plan.schema, {_GROUPS: groups}, own_calls(self.plan))

    @property
    def _unbounded(self) -> nodes.GroupBy:
        """The group-by over all rows that it is given."""
        unbounded = _with_window(self.group_by, replace(self.window, spec=UnboundedWindow()))
        assert isinstance(unbounded, nodes.GroupBy)
        return unbounded


def file_partials(plan: nodes.Node, streams: Mapping[str, Stream]) -> FilePartials | None:
    """What sums up a plan file by file; None of one that is no group-by over the rows of one time window, or whose
    aggregates a standing query only approximates."""
    found = leaves(plan)
    window = found[0] if len(found) == 1 else None
    if not isinstance(window, nodes.Window):
        return None
    if not window.spec.is_timed or isinstance(window.spec, BeginEndWindow):
        return None
    group_by = _group_by_over(plan, window)
    scan = _scan_below(window)
    if group_by is None or scan is None or f"{scan.alias}.{nodes.TIME}" in scan.schema:
        return None
    if any(stated_error(group_by, aggregate) is not None for aggregate in group_by.aggregates):
        return None
    if any(f.type == INTERVAL or f.type.is_nested for f in group_by.schema):
        return None
    return FilePartials(plan, group_by, window, scan, streams[scan.stream])


def _group_by_over(plan: nodes.Node, window: nodes.Window) -> nodes.GroupBy | None:
    """The group-by that takes the rows of a window, with nothing in between but what looks at rows one by one."""
    for node in walk(plan):
        if isinstance(node, nodes.GroupBy):
            below = node.child
            while isinstance(below, _ROW_BY_ROW):
                below = below.child
            if below == window:
                return node
    return None


def _scan_below(window: nodes.Window) -> nodes.StreamScan | None:
    below = window.child
    while isinstance(below, _ROW_BY_ROW):
        below = below.child
    return below if isinstance(below, nodes.StreamScan) else None


def _with_window(node: nodes.Node, window: nodes.Window) -> nodes.Node:
    """A chain with another window in it."""
    if isinstance(node, nodes.Window):
        return window
    return nodes.with_children(node, *(_with_window(child, window) for child in node.children))
