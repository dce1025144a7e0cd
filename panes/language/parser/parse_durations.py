"""Lengths of time in text: `10 MINUTES`, `1 min`, `1.5 hours`."""

from __future__ import annotations

from decimal import Decimal

from panes.plan.durations import MICROSECONDS_IN

_WORDS = {
    "MICROSECOND": ("MICROSECOND", "MICROSECONDS", "US"),
    "MILLISECOND": ("MILLISECOND", "MILLISECONDS", "MS"),
    "SECOND": ("SECOND", "SECONDS", "SEC", "SECS", "S"),
    "MINUTE": ("MINUTE", "MINUTES", "MIN", "MINS"),
    "HOUR": ("HOUR", "HOURS", "H"),
    "DAY": ("DAY", "DAYS", "D"),
}
MICROSECONDS = {word: MICROSECONDS_IN[unit] for unit, words in _WORDS.items() for word in words}
MICROSECONDS |= dict.fromkeys(("WEEK", "WEEKS"), 7 * MICROSECONDS_IN["DAY"])
"""The length of every unit that can be written."""

LONGEST = 1_000_000 * MICROSECONDS["DAY"]
"""Longer than any stream: about 2,700 years. Sums with a timestamp stay within 64 bits."""


def parse_duration(number: str, unit: str) -> int | None:
    """The length in microseconds, or None when it is not a whole number of them, or too long.

    >>> parse_duration("1.5", "min")
    90000000
    """
    length = Decimal(number) * MICROSECONDS[unit.upper()]
    if length != length.to_integral_value() or abs(length) > LONGEST:
        return None
    return int(length)
