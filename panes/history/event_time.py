"""Event times of rows, computed on Arrow columns: the one place that decides which times are accepted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.clock import FIRST_US, LAST_US
from panes.plan.durations import MICROSECONDS_IN
from panes.plan.stream import Stream, TimestampBy

_ARROW_UNITS = {"SECOND": "s", "MILLISECOND": "ms", "MICROSECOND": "us"}
TO_MICROSECONDS = {f"{unit}S": MICROSECONDS_IN[unit] for unit in _ARROW_UNITS}
OF_TIMESTAMPS = {short: MICROSECONDS_IN[unit] for unit, short in _ARROW_UNITS.items()}
"""By the units of Arrow, which numpy shares."""


def timestamp_of(stream: Stream) -> TimestampBy:
    """Where the event time of a stream stands; a file of a stream without one cannot be kept as it is."""
    if stream.timestamp is None:
        raise ValueError(f"stream {stream.name!r} has no TIMESTAMP BY: the files it reads hold no event time")
    return stream.timestamp


def latest_time(stream: Stream, now_us: int) -> int:
    """The last event time that a stream accepts at a wall time."""
    return min(now_us + stream.ahead_us, LAST_US)


def event_time(by: TimestampBy, column: pa.ChunkedArray, latest: int = LAST_US) -> pa.ChunkedArray:
    """Microseconds since 1970; NULL where the row is rejected.

    A row is rejected when it has no time, or one before the year 1 or after `latest`.
    """
    numbers, step = as_numbers(by, column)
    accepted = between(numbers, -(-FIRST_US // step), latest // step)
    return pc.multiply_checked(accepted.cast(pa.int64()), pa.scalar(step, pa.int64()))


def as_numbers(by: TimestampBy, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, int]:
    """The column as integers since 1970, and how many microseconds one of them is."""
    if by.unit != "TIMESTAMP":
        return column, TO_MICROSECONDS[by.unit]
    if not pa.types.is_timestamp(column.type) or column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", tz="UTC"), safe=False)
    return column.cast(pa.int64()), OF_TIMESTAMPS[column.type.unit]


def between(numbers: pa.ChunkedArray, least: int, greatest: int) -> pa.ChunkedArray:
    """The integers of a column, of any width, that lie between two bounds; NULL in place of the others."""
    limits = np.iinfo(numbers.type.to_pandas_dtype())
    least, greatest = max(least, int(limits.min)), min(greatest, int(limits.max))
    if least > greatest:
        return pa.chunked_array([pa.nulls(len(numbers), numbers.type)])
    within = pc.and_(
        pc.greater_equal(numbers, pa.scalar(least, numbers.type)),
        pc.less_equal(numbers, pa.scalar(greatest, numbers.type)),
    )
    return pc.if_else(within, numbers, pa.scalar(None, numbers.type))


def bounds_of(by: TimestampBy, least_ts: int, greatest_ts: int) -> tuple[int, int]:
    """The bounds of the column's own numbers for event times from `least_ts` to `greatest_ts`, both included.

    >>> bounds_of(TimestampBy("ts", "SECONDS"), 1_500_000, 4_000_000)
    (2, 4)
    """
    step = TO_MICROSECONDS.get(by.unit, 1)
    return -(-least_ts // step), greatest_ts // step
