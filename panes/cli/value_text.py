"""Values as text: for people in tables, and exactly in CSV and JSON."""

from __future__ import annotations

import math
import unicodedata
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

NULL = "NULL"

_MADE_VISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Categories of characters that move the cursor, reorder text or show nothing."""

_JOINERS = "\u200c\u200d"
"""Parts of words and of emoji, though of category Cf."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(words: str) -> str:
    r"""Text on one line: control characters, escape sequences and invisible marks are written out.

    >>> print(escaped("a\tb\x1b[31mred\u202e"))
    a\tb\x1b[31mred\u202e
    """
    if words.isprintable():
        return words
    return "".join(map(_visible, words))


def _visible(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if unicodedata.category(character) not in _MADE_VISIBLE or character in _JOINERS:
        return character
    number = ord(character)
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else f"\\u{number:04x}"
        if number < 0x10000
        else f"\\U{number:08x}"
    )


def text(value: Any) -> str:
    """A value as people read it, on one line.

    >>> text(1234567), text(1e-9), text(0.1 + 0.2), text(None), text(""), text(True)
    ('1234567', '1e-09', '0.30000000000000004', 'NULL', '', 'true')
    >>> text([1, None, "a b"]), text({"who": "ann", "n": 2.0})
    ("[1, NULL, 'a b']", "{who: 'ann', n: 2.0}")
    """
    match value:
        case None:
            return NULL
        case bool():
            return str(value).lower()
        case float():
            return _number(value)
        case str():
            return escaped(value)
        case datetime():
            return instant(value)
        case timedelta():
            return interval(value)
        case bytes():
            return f"\\x{value.hex()}"
        case list() | tuple():
            return f"[{', '.join(map(_inside, value))}]"
        case dict():
            return f"{{{', '.join(f'{escaped(str(k))}: {_inside(v)}' for k, v in value.items())}}}"
    return str(value)


def _inside(value: Any) -> str:
    """A value in a list: text is quoted there, as it may hold commas."""
    return "'" + escaped(value.replace("'", "''")) + "'" if isinstance(value, str) else text(value)


def _number(value: float) -> str:
    """The shortest digits that give the same number again."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def instant(moment: datetime) -> str:
    """A moment with its zone, and with microseconds when it has any.

    >>> instant(datetime(2026, 1, 5, 10, tzinfo=UTC)), instant(datetime(2026, 1, 5, 10, 0, 0, 250))
    ('2026-01-05 10:00:00 UTC', '2026-01-05 10:00:00.000250')
    """
    if moment.tzinfo is None:
        return moment.isoformat(" ")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ") + " UTC"


def interval(length: timedelta) -> str:
    """
    >>> interval(timedelta(days=2, seconds=3723)), interval(timedelta(seconds=-1.5))
    ('2 days 01:02:03', '-00:00:01.500000')
    """
    size = abs(length)
    clock = (datetime.min + (size - timedelta(days=size.days))).time()
    days = f"{size.days} day{'s' * (size.days != 1)} " if size.days else ""
    return f"{'-' * (length < timedelta())}{days}{clock.isoformat()}"


def texts(column: pa.ChunkedArray) -> list[str]:
    """A column as people read it."""
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        zone = " UTC" if getattr(column.type, "tz", None) else ""
        return [NULL if v is None else v.replace("T", " ") + zone for v in _iso(column)]
    return [text(value) for value in column.to_pylist()]


def exact(column: pa.ChunkedArray) -> list[Any]:
    """A column as JSON has it: instants and dates in ISO 8601, NaN and infinities as text, the rest as it is."""
    if pa.types.is_temporal(column.type) and not pa.types.is_duration(column.type):
        zone = "Z" if getattr(column.type, "tz", None) else ""
        return [None if v is None else v + zone for v in _iso(column)]
    values: list[Any] = column.to_pylist()
    if (
        pa.types.is_integer(column.type)
        or pa.types.is_string(column.type)
        or pa.types.is_boolean(column.type)
    ):
        return values
    return [_exact(value) for value in values]


def _exact(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return _number(value)
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return _iso_interval(value)
        case bytes():
            return value.hex()
        case list() | tuple():
            return [_exact(item) for item in value]
        case dict():
            return {name: _exact(item) for name, item in value.items()}
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _iso_interval(length: timedelta) -> str:
    """
    >>> _iso_interval(timedelta(days=2, seconds=3723)), _iso_interval(timedelta(microseconds=-1))
    ('P2DT3723S', '-PT0.000001S')
    """
    size = abs(length)
    days = f"{size.days}D" if size.days else ""
    fraction = f".{size.microseconds:06d}" if size.microseconds else ""
    return f"{'-' * (length < timedelta())}P{days}T{size.seconds}{fraction}S"


def _iso(column: pa.ChunkedArray) -> list[str | None]:
    """Instants, dates or times of day in ISO 8601, with microseconds when there are any.

    By numpy where it can be: Python's datetime ends with the year 9999.
    """
    if pa.types.is_time(column.type):
        return [None if v is None else v.isoformat() for v in column.to_pylist()]
    is_date = pa.types.is_date(column.type)
    naive = column.cast(pa.date32() if is_date else pa.timestamp("us"))
    values = naive.to_numpy().astype("datetime64[D]" if is_date else "datetime64[us]")
    words = np.datetime_as_string(values).tolist()
    return [None if word == "NaT" else word.removesuffix(".000000") for word in words]
