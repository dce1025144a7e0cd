"""Constants: dates and instants written as text (UTC unless an offset is given), and casts of constants."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal

from panes.clock import to_microseconds
from panes.plan.expressions import Value
from panes.plan.types import (
    BINARY,
    DOUBLE,
    MOST_DIGITS,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
    limit_of,
)

_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)? ?(Z|UTC|[+-]\d{2}:\d{2})?\Z",
    re.ASCII,
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)
_DECIMAL = re.compile(r" *[+-]?(\d{1,38}(\.\d{0,38})?|\.\d{1,38}) *\Z", re.ASCII)
_EXACT = Context(prec=4 * MOST_DIGITS)
_GREATEST_FLOAT = (2 - 2**-23) * 2.0**127


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

    >>> from panes.plan.types import BIGINT, INT
    >>> cast("12", INT), cast(True, STRING), cast(2.5, BIGINT), cast("2.345", decimal(5, 2))
    (12, 'true', 2, Decimal('2.35'))
    """
    if isinstance(value, bool):
        return str(value).lower() if target == STRING else int(value) if target.is_integer else None
    if target.is_integer:
        return _cast_to_integer(value, limit_of(target))
    if target.is_decimal:
        return _cast_to_decimal(value, target)
    if target.is_floating and isinstance(value, (int, float, Decimal)):
        number = float(value)
        return number if target == DOUBLE or abs(number) <= _GREATEST_FLOAT else None
    if target == STRING and isinstance(value, (int, Decimal)):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    if target == BINARY and isinstance(value, str):
        return value.encode()
    if target == TIMESTAMP and isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return None


def as_written(number: float) -> tuple[Decimal, Type] | None:
    """A number as the DECIMAL that its digits say; None when it has an exponent.

    >>> value, type_ = as_written(1.50)
    >>> value, str(type_)
    (Decimal('1.5'), 'DECIMAL(2, 1)')
    """
    digits, _, fraction = repr(number).lstrip("-").partition(".")
    if not (digits + fraction).isdigit():
        return None
    return Decimal(repr(number)), decimal(len(digits) + len(fraction), len(fraction))


def _cast_to_integer(value: Value, limit: int) -> int | None:
    if isinstance(value, str):
        value = whole(value.strip(" "))
    if not isinstance(value, (int, float, Decimal)):
        return None
    cut = int(value)
    return cut if -limit <= cut < limit else None


def _cast_to_decimal(value: Value, target: Type) -> Decimal | None:
    unit = Decimal(1).scaleb(-target.scale)
    if isinstance(value, float):
        scaled = Decimal(value * 10.0**target.scale).quantize(Decimal(1), ROUND_HALF_UP, _EXACT)
        exact = scaled.scaleb(-target.scale, _EXACT) if -(2**63) <= scaled < 2**63 else None
    elif isinstance(value, str):
        exact = Decimal(value.strip(" ")) if _DECIMAL.match(value) else None
    else:
        exact = Decimal(value) if isinstance(value, (int, Decimal)) else None
    if exact is None:
        return None
    rounded = exact.quantize(unit, ROUND_HALF_UP, _EXACT)
    return rounded if abs(rounded) < Decimal(10) ** (target.precision - target.scale) else None
