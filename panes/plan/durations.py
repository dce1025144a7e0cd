"""Lengths of time and instants as text, the way the language writes them."""

from __future__ import annotations

from datetime import timedelta

from panes.clock import EPOCH

MICROSECONDS_IN = {
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
"""The length of every unit, from the longest to the shortest. All other tables of units are made from this one."""


def duration_text(length_us: int) -> str:
    """The shortest way to write a length: in the largest unit that divides it.

    >>> duration_text(600_000_000), duration_text(1_000_000)
    ('10 MINUTES', '1 SECOND')
    """
    name, unit = next((name, unit) for name, unit in MICROSECONDS_IN.items() if length_us % unit == 0)
    number = length_us // unit
    return f"{number} {name}{'' if number == 1 else 'S'}"


def length_us(length: timedelta) -> int:
    """A length in microseconds.

    >>> length_us(timedelta(seconds=2))
    2000000
    """
    return length // timedelta(microseconds=1)


def instant_text(since_1970_us: int) -> str:
    """An instant in UTC.

    >>> instant_text(1_000_000)
    '1970-01-01 00:00:01'
    """
    return (EPOCH + timedelta(microseconds=since_1970_us)).replace(tzinfo=None).isoformat(sep=" ")
