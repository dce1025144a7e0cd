"""Event times of rows as the source had them: what the pipeline computes in Spark, on Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.plan.stream import Stream, TimestampBy

TO_MICROSECONDS = {"SECONDS": 1_000_000, "MILLISECONDS": 1_000, "MICROSECONDS": 1}
_LEAST, _GREATEST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


def timestamp_of(stream: Stream) -> TimestampBy:
    """Where the event time of a stream stands; a file of a stream without one cannot be kept as it is."""
    if stream.timestamp is None:
        raise ValueError(f"stream {stream.name!r} has no TIMESTAMP BY: the files it reads hold no event time")
    return stream.timestamp


def event_time(by: TimestampBy, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Microseconds since 1970; NULL where there is no time, or one beyond 64 bits."""
    if by.unit == "TIMESTAMP":
        return column.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(pa.int64())
    least, greatest = bounds_of(by, _LEAST, _GREATEST)
    whole = column.cast(pa.int64())
    in_range = pc.and_(pc.greater_equal(whole, least), pc.less_equal(whole, greatest))
    return pc.multiply_checked(
        pc.if_else(in_range, whole, pa.scalar(None, pa.int64())), TO_MICROSECONDS[by.unit]
    )


def bounds_of(by: TimestampBy, least_ts: int, greatest_ts: int) -> tuple[int, int]:
    """The bounds of the column's own numbers for event times from `least_ts` to `greatest_ts`, both included.

    >>> bounds_of(TimestampBy("ts", "SECONDS"), 1_500_000, 4_000_000)
    (2, 4)
    """
    step = TO_MICROSECONDS.get(by.unit, 1)
    return -(-least_ts // step), greatest_ts // step
