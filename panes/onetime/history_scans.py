"""The tuples of streams, read by DuckDB from the files of their history: only files, columns and rows of use.

Tables come from memory: their rows at the instant of the query, or where tuples look them up, all versions as
intervals.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence, Set

from panes.delta.delta import BEGINNING, TS
from panes.history.event_time import TO_MICROSECONDS, bounds_of, timestamp_of
from panes.history.file_checksums import check
from panes.history.history_file import CAME, EPOCH, HistoryFile
from panes.history.history_store import History
from panes.history.manifests import Manifest
from panes.history.parts import columns_lacking
from panes.history.query_clocks import QueryClocks
from panes.onetime.contents import ORDER, Scanned
from panes.onetime.scanned_tables import ScannedTables, without_zone
from panes.plan import nodes
from panes.plan.sql_functions import sql_type
from panes.plan.stream import Stream
from panes.plan.to_sql import quoted
from panes.plan.types import DOUBLE, Type
from panes.plan.windows import Reach
from panes.state.storage.object_cache import local_copy
from panes.tables.table_store import Tables

_FILE = "CAST(file_index AS BIGINT) + 1"
_MOST_ROWS = 1 << 40
"""More than a file has: the order of a row is the number of its file times this, and its place in the file."""


class HistoryScans:
    """What the history holds at one epoch.

    `clocks` are those of the query that reads it. None: it reads one stream, whose clocks the history has.
    """

    def __init__(
        self,
        streams: Mapping[str, Stream],
        history: History,
        epoch: int,
        now: int,
        clocks: QueryClocks | None,
        tables: Tables | None = None,
        read: Set[str] = frozenset(),
    ) -> None:
        """`read` are the streams that the query reads, by name: their clocks say when changes of tables count."""
        self._streams = streams
        self._history = history
        self._epoch = epoch
        self._now = now
        self._clocks = clocks
        self.files: list[HistoryFile] = []
        """Those that were asked for."""
        self._versions = tables
        self._read = frozenset(streams[name].number for name in read)
        self.tables = ScannedTables()

    def stream(self, scan: nodes.StreamScan, reach: Reach) -> Scanned:
        stream = self._streams[scan.stream]
        kept = self._history.at(stream.number, self._epoch)
        found, left_out = files_within(kept, reach, self._now, is_alone=self._clocks is None)
        for file in found:
            check(file)
        self.files += found
        return Scanned(_Reader(stream, scan, reach, self._clocks).sql(found), left_out)

    def relation(self, scan: nodes.TableScan) -> str:
        assert self._versions is not None
        if scan.stream is None:
            rows = self._versions.rows_at(scan.table, self._read, self._epoch, self._now)
        else:
            by = {self._streams[scan.stream].number}
            rows = self._versions.intervals(scan.table, by, self._epoch)
        return self.tables.select(scan, rows)


def files_within(kept: Manifest, reach: Reach, now: int, *, is_alone: bool) -> tuple[list[HistoryFile], int]:
    """The files that a window reads at an instant, and how many rows came before those of them. `is_alone` says
    that the query reads no other stream."""
    found = [f for f in kept.files if f.max_ts >= reach.since and f.min_ts <= reach.until]
    # Which rows are the youngest depends on when they are seen, and files know that for their stream alone.
    if reach.youngest is None or not is_alone:
        return found, 0
    young = {file.path for file in kept.youngest(reach.youngest, now)}
    left_out = kept.dropped + sum(file.rows for file in kept.files if file.path not in young)
    return [file for file in found if file.path in young], left_out


class _Reader:
    """Writes the SELECT of a scan over some files."""

    def __init__(
        self, stream: Stream, scan: nodes.StreamScan, reach: Reach, clocks: QueryClocks | None
    ) -> None:
        self._stream = stream
        self._reach = reach
        self._clocks = clocks
        self._names = {name: scan.attribute(name) for name in scan.schema.names}

    def sql(self, files: Sequence[HistoryFile]) -> str:
        if not files:
            return self._nothing()
        alike: dict[object, list[tuple[int, HistoryFile]]] = {}
        for number, file in enumerate(files):
            # A stream's files are of one kind, but for those that were merged.
            lacking = columns_lacking(file, self._stream)
            key = file.kind, file.layout, *file.stored.values(), lacking
            alike.setdefault(key, []).append((number, file))
        return " UNION ALL ".join(map(self._select, alike.values()))

    def _select(self, files: Sequence[tuple[int, HistoryFile]]) -> str:
        first = files[0][1]
        columns = [f"{self._column(own, first)} AS {quoted(name)}" for name, own in self._names.items()]
        ts, within = self._time(first)
        columns += [f"{ts} AS {TS}", f"{self._came([file for _, file in files])} AS {CAME}"]
        if self._reach.needs_order:
            numbers = [number * _MOST_ROWS for number, _ in files]
            columns.append(f"{numbers}[{_FILE}] + file_row_number AS {ORDER}")
        paths = ", ".join(_text(glob.escape(str(local_copy(file.path)))) for _, file in files)
        read = f"read_parquet([{paths}], hive_partitioning = false)"
        return f"SELECT {', '.join(columns)} FROM {read} WHERE {within}"

    def _column(self, name: str, file: HistoryFile) -> str:
        type_ = self._stream.columns[name].type
        if not file.is_raw and name not in columns_lacking(file, self._stream):
            return _plain(quoted(name), type_)
        if name not in file.stored:
            return f"CAST(NULL AS {sql_type(type_)})"
        return f"CAST({_plain(quoted(file.stored[name]), type_)} AS {sql_type(type_)})"

    def _time(self, file: HistoryFile) -> tuple[str, str]:
        """The event time, and the condition that it is within reach."""
        if not file.is_raw:
            return TS, f"{TS} BETWEEN {self._reach.since} AND {self._reach.until}"
        by = timestamp_of(self._stream)
        column = quoted(file.stored[by.column])
        if by.unit == "TIMESTAMP":
            ts = f"epoch_us({column})"
            return ts, f"{ts} BETWEEN {self._reach.since} AND {self._reach.until}"
        least, greatest = bounds_of(by, self._reach.since, self._reach.until)
        within = f"{column} BETWEEN {least} AND {greatest}"
        # Beyond these bounds the product may not fit, and conditions are tested in any order.
        product = f"CAST({column} AS BIGINT) * {TO_MICROSECONDS[by.unit]}"
        return f"CASE WHEN {within} THEN {product} END", within

    def _came(self, files: Sequence[HistoryFile]) -> str:
        """The first instant at which the query sees each row."""
        if files[0].kind == "merged":
            return CAME if self._clocks is None else self._came_by_epoch(self._clocks)
        came = [self._file_came(file) for file in files]
        is_late = any(file.min_ts < first for file, first in zip(files, came, strict=True))
        if not self._reach.needs_order and not is_late:
            return f"CAST({BEGINNING} AS BIGINT)"
        return f"{came}[{_FILE}]"

    def _file_came(self, file: HistoryFile) -> int:
        known = None if self._clocks is None else self._clocks.first_seen(file.epoch)
        return file.came if known is None else known

    def _came_by_epoch(self, clocks: QueryClocks) -> str:
        known = [epoch + 1 for epoch in clocks.by_epoch]
        if not known:
            return CAME
        came = [clocks.first_seen(epoch) for epoch in known]
        return f"CASE WHEN {EPOCH} >= {known[0]} THEN {came}[{EPOCH} - {known[0]} + 1] ELSE {CAME} END"

    def _nothing(self) -> str:
        types = {name: self._stream.columns[own].type for name, own in self._names.items()}
        columns = [f"CAST(NULL AS {sql_type(type_)}) AS {quoted(name)}" for name, type_ in types.items()]
        hidden = [TS, CAME, ORDER] if self._reach.needs_order else [TS, CAME]
        columns += [f"CAST(0 AS BIGINT) AS {name}" for name in hidden]
        return f"SELECT {', '.join(columns)} WHERE FALSE"


def _plain(column: str, type_: Type) -> str:
    """A column as the expressions of plans expect it."""
    column = without_zone(column, type_)
    # The bounds that a file has of its columns leave out NaN, which is above them: DuckDB must not go by them.
    return f"TRY({column})" if type_ == DOUBLE else column


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
