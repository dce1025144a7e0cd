"""Wall time. The only place that reads it, so that everything else can be run by a hand-moved clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
FIRST_US, LAST_US = (_FIRST - EPOCH) // _MICROSECOND, (_LAST - EPOCH) // _MICROSECOND
"""The bounds of event time: the years 1 to 9999, which is what a datetime holds."""


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds since 1970."""

    def elapsed(self) -> float:
        """Seconds since some fixed moment: for measuring how long things take."""


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000

    def elapsed(self) -> float:
        return time.perf_counter()


class HandClock:
    """A clock that moves when it is told to, for tests."""

    def __init__(self, now_us: int = 0) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    def elapsed(self) -> float:
        return self._now_us / 1_000_000

    def advance(self, microseconds: int) -> None:
        self._now_us += microseconds


def to_datetime(instant_us: int) -> datetime:
    """The instant as a datetime in UTC; one outside the years 1 to 9999 becomes the nearest instant in them.

    Event times lie within those years, but a clock may lie before them: it is a time minus SLACK, or the slide
    before that.

    >>> to_datetime(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    >>> to_datetime(-(2**63)).isoformat()
    '0001-01-01T00:00:00+00:00'
    """
    return EPOCH + timedelta(microseconds=min(max(instant_us, FIRST_US), LAST_US))


def to_microseconds(moment: datetime) -> int:
    """The inverse of `to_datetime`; a moment without a time zone is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // _MICROSECOND
