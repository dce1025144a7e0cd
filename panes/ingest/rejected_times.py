"""Rows that are rejected because of their event time, and the reason for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.clock import EPOCH, to_microseconds
from panes.delta.delta import TS
from panes.history.event_time import (
    OF_TIMESTAMPS,
    TO_MICROSECONDS,
    as_numbers,
    between,
    event_time,
    latest_time,
    timestamp_of,
)
from panes.history.history_file import HistoryFile
from panes.history.parts import metadata_of, read_stored
from panes.ingest.rejected_rows import BAD
from panes.plan.durations import MICROSECONDS_IN, duration_text
from panes.plan.lifetime_window import ends_of
from panes.plan.stream import Stream, TimestampBy

NO_TIME = "there is no event time"
_UNITS = TO_MICROSECONDS | {"NANOSECONDS": 0.001}
_NEAR_US = to_microseconds(EPOCH.replace(year=1980))
"""A number that gives a time between this one and now in another unit is likely to be in that unit."""
_NUMPY_UNITS = {length: unit for unit, length in OF_TIMESTAMPS.items()}
_LENGTHS = {"years": 365.2425 * MICROSECONDS_IN["DAY"]}
_LENGTHS |= {f"{unit.lower()}s": MICROSECONDS_IN[unit] for unit in ("DAY", "HOUR", "SECOND")}
_LIMITS = np.iinfo(np.int64)


def with_times(
    stream: Stream, rows: pa.Table, bad: pa.Array, now_us: int, arrived: pa.Array | None
) -> tuple[pa.Table, pa.Table | None]:
    """The rows that can be used, with `_ts`, and the others, with `_bad`.

    `bad` has the reasons that are known already; `arrived` the times of arrival, where these are the event times.
    """
    by = stream.timestamp
    ts = arrived if by is None else event_time(by, rows.column(by.column), latest_time(stream, now_us))
    if stream.expires is not None:
        bad = pc.coalesce(bad, _ended(stream.expires, rows.column(stream.expires.column), ts))
    rows = rows.append_column(TS, ts).append_column(BAD, bad)
    usable = pc.and_(pc.is_null(rows.column(BAD)), pc.is_valid(rows.column(TS)))
    if pc.all(usable).as_py():
        return rows.drop_columns([BAD]), None
    rejected = rows.filter(pc.invert(usable)).drop_columns([TS])
    if by is not None:
        reason = pc.coalesce(rejected.column(BAD), _reasons(stream, rejected.column(by.column), now_us))
        rejected = rejected.drop_columns([BAD]).append_column(BAD, reason)
    return rows.filter(usable).drop_columns([BAD]), rejected


def rows_with_rejected_times(stream: Stream, file: HistoryFile, now_us: int) -> pa.Table | None:
    """The rows of a Parquet file of a source that are rejected, with the reason in `_bad`.

    Mostly there are none, and the file is not read.
    """
    if metadata_of(file.path).num_rows == file.rows:
        return None
    stored = read_stored(file.path, list(file.stored.values()))
    by = timestamp_of(stream)
    if by.column not in file.stored:
        times = pa.chunked_array([pa.nulls(stored.num_rows, stream.columns[by.column].type.arrow)])
    else:
        times = stored.column(file.stored[by.column])
    is_rejected = pc.is_null(event_time(by, times, latest_time(stream, now_us)))
    stored, times = stored.filter(is_rejected), times.filter(is_rejected)
    columns = {
        field.name: stored.column(file.stored[field.name])
        if field.name in file.stored
        else pa.chunked_array([pa.nulls(stored.num_rows, field.type)])
        for field in stream.columns.arrow
    }
    # An instant that does not fit the declared type is shown as NULL; the reason tells it.
    numbers, step = as_numbers(by, times)
    step = step if by.unit == "TIMESTAMP" else 1
    fits = pc.is_valid(between(numbers, -(-_LIMITS.min // step), _LIMITS.max // step))
    columns[by.column] = pc.if_else(fits, times, pa.scalar(None, times.type))
    rows = pa.table({field.name: columns[field.name].cast(field.type) for field in stream.columns.arrow})
    return rows.append_column(BAD, _reasons(stream, times, now_us))


def _ended(by: TimestampBy, column: pa.ChunkedArray, ts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Why rows are rejected that leave before they can be seen; NULL for the others."""
    ends = pa.array(ends_of(column, by))
    is_over = pc.less_equal(ends, ts)
    if not pc.any(is_over).as_py():
        return pa.nulls(len(ends), pa.string())
    return pc.if_else(is_over, f"{by.column} is not after the event time: the tuple is never alive", None)


def _reasons(stream: Stream, times: pa.ChunkedArray, now_us: int) -> pa.ChunkedArray:
    """Why each of some rejected times is rejected."""
    by = timestamp_of(stream)
    numbers, step = as_numbers(by, times)
    whole = pc.fill_null(numbers, 0).to_numpy()
    there = np.clip(whole, _LIMITS.min + 1, _LIMITS.max).astype(f"datetime64[{_NUMPY_UNITS[step]}]")
    since_1970 = whole.astype(np.float64)
    ahead = since_1970 * step - now_us
    lengths = [ahead >= 2 * length for length in _LENGTHS.values()]
    texts = [_joined(np.floor(ahead / length).astype(np.int64), f" {n}") for n, length in _LENGTHS.items()]
    distance = _joined(" lies ", np.select(lengths, texts, "a moment"), " ahead of the wall clock")
    units = {} if by.unit == "TIMESTAMP" else {n: s for n, s in _UNITS.items() if n != by.unit}
    latest = latest_time(stream, now_us)
    likely = [(since_1970 * s >= _NEAR_US) & (since_1970 * s <= latest) for s in units.values()]
    hints = [f"; is {by.column} in {name}? the stream says {by.unit}" for name in units]
    allowed = f"; AHEAD allows {duration_text(stream.ahead_us)}"
    distance = _joined(distance, np.select(likely, hints, allowed) if units else allowed)
    distance = np.where(ahead > 0, distance, " lies before the year 1")
    reasons = _joined("event time ", np.datetime_as_string(there, unit="s"), distance)
    reasons = np.where(pc.is_null(times).to_numpy(), NO_TIME, reasons)
    return pa.chunked_array([pa.array(reasons, pa.string())])


def _joined(*parts: Any) -> Any:
    """The texts and columns of texts or numbers, row by row."""
    text = np.asarray("")
    for part in parts:
        text = np.strings.add(text, np.asarray(part).astype(np.str_))
    return text
