"""Constants: dates and instants written as text (UTC unless an offset is given), and casts of constants."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from panes.clock import to_microseconds
from panes.plan.expressions import Value
from panes.plan.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Type

_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)? ?(Z|UTC|[+-]\d{2}:\d{2})?\Z",
    re.ASCII,
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)
_LIMIT = {INT: 2**31, BIGINT: 2**63}


def is_whole(text: str) -> bool:
    """Whether a text is an optional sign and digits, of any length."""
    return _INTEGER.match(text) is not None


def whole(text: str) -> int | None:
    """The integer that a text names, or None when it is none or does not fit into 64 bits."""
    if not is_whole(text) or len(text.lstrip("+-0")) > 19:
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def instant(text: str) -> datetime | None:
    """The instant that a text names, or None.

    >>> instant("2026-01-31 12:00:00.5")
    datetime.datetime(2026, 1, 31, 12, 0, 0, 500000, tzinfo=datetime.timezone.utc)
    """
    match = _INSTANT.match(text.strip())
    if not match:
        return None
    day, minute, second, fraction, zone = match.groups()
    offset = "+00:00" if zone in (None, "Z", "UTC") else zone
    iso = f"{day}T{minute or '00:00'}:{second or '00'}.{(fraction or '').ljust(6, '0')}{offset}"
    try:
        return datetime.fromisoformat(iso).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def instant_us(text: str) -> int | None:
    """The same in microseconds since 1970."""
    moment = instant(text)
    return None if moment is None else to_microseconds(moment)


def day(text: str) -> date | None:
    """The date that a text names, or None."""
    if not _DAY.match(text.strip()):
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def cast(value: Value, target: Type) -> Value:
    """A constant in another type, or None when that is for the evaluators to do, or to refuse.

    >>> cast("12", INT), cast(True, STRING), cast(2.5, BIGINT)
    (12, 'true', 2)
    """
    if target == DOUBLE and isinstance(value, int):
        return float(value)
    if target == STRING and isinstance(value, bool):
        return str(value).lower()
    if target == STRING and isinstance(value, int):
        return str(value)
    if target in _LIMIT:
        if isinstance(value, str):
            value = whole(value.strip(" "))
        if isinstance(value, (int, float)):
            cut = int(value)
            return cut if -_LIMIT[target] <= cut < _LIMIT[target] else None
    if target == TIMESTAMP and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return None
