"""A local Parquet file that an epoch brought: what its footer tells, and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.delta import BEGINNING, TS
from panes.errors import SourceError
from panes.history.event_time import latest_time
from panes.history.history_file import CAME, EPOCH, HistoryFile
from panes.history.measure import measured_raw, stored_columns
from panes.history.parts import metadata_of, read_rows, read_stored
from panes.history.stored_types import converted, reading_of, why_unreadable
from panes.ingest.rejected_times import rows_with_rejected_times, with_times
from panes.plan.stream import Stream
from panes.state.storage.locations import Location

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder name that stands for NULL."""


@dataclass(frozen=True)
class ArrivedFile:
    """A file of a source, as the tasks of an epoch read it."""

    file: HistoryFile
    folders: Mapping[str, str | None] = field(default_factory=dict)
    """The columns that the file does not have, and the names of its folders do."""
    is_checked: bool = False
    """Whether each value must be looked at, because its declared type may not hold it."""

    @property
    def rows(self) -> int:
        return self.file.rows

    @property
    def path(self) -> Location:
        return self.file.path

    def can_be_history(self, stream: Stream) -> bool:
        """Whether the file can be kept as it is: any reader finds in it what the epoch took in."""
        is_read_alike = not self.is_checked and not self.folders
        # Rows that leave before they come are rejected, and would be in the file.
        return stream.timestamp is not None and stream.expires is None and is_read_alike


def arrived(stream: Stream, path: Location, now_us: int) -> ArrivedFile:
    """What the footer of a file tells; raises StateError, SourceError or ArrowException when it cannot be read."""
    metadata = metadata_of(path)
    schema = metadata.schema.to_arrow_schema()
    stored = stored_columns(schema, stream)
    readings = []
    for name, own in stored.items():
        type_ = schema.field(own).type
        readings.append(reading_of(type_, stream.columns[name].type))
        if readings[-1] is None:
            raise SourceError(why_unreadable(name, stream.columns[name].type, type_))
    folders = {
        name: text
        for name, text in (columns_in_folders(path) if isinstance(path, Path) else {}).items()
        if name in stream.columns and name not in stored
    }
    file = HistoryFile(path, "raw", metadata.num_rows, BEGINNING, BEGINNING, 0, stored=stored)
    found = ArrivedFile(file, folders, "BY_VALUE" in readings)
    if not found.can_be_history(stream):
        return found
    return replace(found, file=measured_raw(replace(file, rows=0), stream, latest_time(stream, now_us)))


def read_arrived(
    arrived: ArrivedFile, stream: Stream, columns: Sequence[str], now_us: int, arrival_us: int
) -> tuple[pa.Table, pa.Table | None]:
    """The given columns and `_ts`, and, with all columns and `_bad`, the rows that cannot be used.

    `now_us` is the wall time of the epoch, `arrival_us` the time of rows that have none of their own.
    """
    if arrived.can_be_history(stream):
        rows = read_rows(arrived.file, stream, columns, latest_time(stream, now_us))
        return rows.drop_columns([CAME, EPOCH]), rows_with_rejected_times(stream, arrived.file, now_us)
    # A row that is rejected for the value of a column is rejected whether or not a query reads the column.
    has_times = stream.timestamp is not None or stream.expires is not None
    names = stream.columns.names if arrived.is_checked or has_times else columns
    there = [arrived.file.stored[name] for name in names if name in arrived.file.stored]
    stored = read_stored(arrived.path, there)
    arrays: dict[str, pa.ChunkedArray] = {}
    reasons = pa.chunked_array([pa.nulls(stored.num_rows, pa.string())])
    for name in names:
        arrays[name], holds = _column(arrived, stream, name, stored)
        if not pc.all(holds).as_py():
            reason = f"column {name!r} holds a value that {stream.columns[name].type} cannot"
            reasons = pc.if_else(holds, reasons, pc.coalesce(reasons, pa.scalar(reason)))
    arrival = pa.array(np.full(stored.num_rows, arrival_us, np.int64))
    if not names:
        return pa.table({TS: arrival}), None
    usable, unusable = with_times(stream, pa.table(arrays), reasons, now_us, arrival)
    return usable.select([*columns, TS]), unusable


def _column(
    arrived: ArrivedFile, stream: Stream, name: str, stored: pa.Table
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """A column as its declared type, and for each row whether that can hold its value."""
    declared = stream.columns[name].type
    if name in arrived.file.stored:
        return converted(stored.column(arrived.file.stored[name]), declared)
    text = pa.scalar(arrived.folders.get(name), pa.string())
    values = pa.repeat(text.cast(declared.arrow), stored.num_rows)
    return pa.chunked_array([values]), pa.chunked_array([pa.repeat(True, stored.num_rows)])


def columns_in_folders(path: Path) -> dict[str, str | None]:
    """What the names of the folders say, as in `day=2026-01-05/`; the innermost counts."""
    found = {}
    for part in path.parts[:-1]:
        name, sign, value = part.partition("=")
        if sign:
            found[unquote(name)] = None if value == _NO_VALUE else unquote(value)
    return found
