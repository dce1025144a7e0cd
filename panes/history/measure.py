"""What the footer of a Parquet file tells of the rows in it; where it does not, the rows do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from panes.clock import FIRST_US, LAST_US, to_microseconds
from panes.delta.delta import TS
from panes.history.event_time import TO_MICROSECONDS, timestamp_of
from panes.history.history_file import HistoryFile
from panes.history.parts import metadata_of, read_rows, read_stored
from panes.plan.stream import Stream, TimestampBy


def measured_raw(file: HistoryFile, stream: Stream, latest: int = LAST_US) -> HistoryFile:
    """The file with the columns and the rows it has, and their times; 0 rows when all are rejected.

    `latest` is the last event time that is accepted.
    """
    by = timestamp_of(stream)
    metadata = metadata_of(file.path)
    schema = metadata.schema.to_arrow_schema()
    stored = stored_columns(schema, stream)
    layout = ", ".join(str(schema.field(name).type) for name in stored.values())
    file = replace(file, stored=stored, layout=layout)
    found = _times(metadata, by, stored.get(by.column), latest)
    if found is None:
        ts = read_rows(file, stream, (), latest).column(TS)
        bounds = pc.min_max(ts).as_py()
        found = len(ts), bounds["min"], bounds["max"]
    rows, min_ts, max_ts = found
    return replace(file, rows=rows, min_ts=min_ts, max_ts=max_ts) if rows else replace(file, rows=0)


def has_times_beyond(file: HistoryFile, stream: Stream) -> bool:
    """Whether rows of a raw file that was measured are rejected for their time, and not for having none."""
    if metadata_of(file.path).num_rows == file.rows:
        return False
    times = read_stored(file.path, [file.stored[timestamp_of(stream).column]]).column(0)
    return bool(len(times) - times.null_count > file.rows)


def stored_columns(schema: pa.Schema, stream: Stream) -> dict[str, str]:
    """Under what name a file has each column of the stream that it has."""
    there = {name.casefold(): name for name in schema.names}
    return {name: there[name.casefold()] for name in stream.columns.names if name.casefold() in there}


def _times(
    metadata: pq.FileMetaData, by: TimestampBy, name: str | None, latest: int
) -> tuple[int, int, int] | None:
    """How many rows have a time, the first and the last; None when that takes a look at the rows."""
    columns = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    if name not in columns or not metadata.num_rows:
        return None
    place = columns.index(name)
    found = [metadata.row_group(at).column(place).statistics for at in range(metadata.num_row_groups)]
    if any(s is None or not s.has_min_max or not s.has_null_count for s in found):
        return None
    try:
        times = _as_times(by, [bound for s in found for bound in (s.min, s.max)])
    except (OverflowError, ValueError):
        return None  # beyond what a datetime holds
    if min(times) < FIRST_US or max(times) > latest:
        return None  # some rows are rejected
    return metadata.num_rows - sum(s.null_count for s in found), min(times), max(times)


def _as_times(by: TimestampBy, bounds: Sequence[Any]) -> list[int]:
    if by.unit == "TIMESTAMP":
        if any(bound != bound for bound in bounds):
            raise ValueError("the least of nanoseconds, which pandas takes for none")
        return [to_microseconds(bound) for bound in bounds]
    return [int(bound) * TO_MICROSECONDS[by.unit] for bound in bounds]
