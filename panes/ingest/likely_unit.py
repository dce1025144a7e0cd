"""Event times that are wrong by the factor between two units of time, as the times of files tell.

A number of milliseconds that is declared as MICROSECONDS gives a time in January 1970. That is a time as good as
any other, so nothing is rejected; but a file that was written in 2026 and would hold times of 2026 in another unit
is likely to be in that unit. Times that are too large are rejected for lying ahead of the wall clock.
"""

from __future__ import annotations

from panes.clock import EPOCH, to_datetime, to_microseconds
from panes.delta.delta import BEGINNING
from panes.history.event_time import TO_MICROSECONDS
from panes.ingest.file_location import FileLocation
from panes.plan.durations import MICROSECONDS_IN
from panes.plan.stream import Stream

_NEAR_US = 5 * 365 * MICROSECONDS_IN["DAY"]
"""How far from the time of a file its last event time may lie, to be taken for right."""
_EARLY_US = to_microseconds(EPOCH.replace(year=1980))


def likely_unit(stream: Stream, max_ts: int) -> str:
    """A sentence that names the unit in which a stream's times seem to be; empty when nothing looks wrong.

    `max_ts` is the last event time of the stream.
    """
    by = stream.timestamp
    is_of_files = stream.source.kind == "FILES" and by is not None and by.unit in TO_MICROSECONDS
    if not is_of_files or not BEGINNING < max_ts < _EARLY_US:
        return ""
    assert by is not None
    written_us = _last_written(FileLocation.of(str(stream.source.location)))
    if written_us is None or abs(max_ts - written_us) <= _NEAR_US:
        return ""
    for unit, length in TO_MICROSECONDS.items():
        meant = max_ts // TO_MICROSECONDS[by.unit] * length
        if unit != by.unit and abs(meant - written_us) <= _NEAR_US:
            return (
                f"{stream.name}: event times end at {to_datetime(max_ts):%Y-%m-%d %H:%M:%S}, and the files are of "
                f"{to_datetime(written_us):%Y-%m-%d}; is {by.column} in {unit}? the stream says {by.unit}"
            )
    return ""


def _last_written(location: FileLocation) -> int | None:
    """When the newest of some local files was written."""
    if not location.is_local:
        return None
    return max((path.stat().st_mtime_ns // 1000 for path in location.files()), default=None)
