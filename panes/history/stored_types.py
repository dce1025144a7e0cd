"""How the types of Parquet columns are read as the declared types of a stream.

    EXACT     the declared type holds every value of the stored one: a narrower integer or float, text of any
              layout, a coarser time; any reader gives the same values
    BY_VALUE  it holds most values: uint64, decimals, nanoseconds, a long integer as DOUBLE, bytes as text; each
              value is checked, and a row whose value the declared type cannot hold is rejected

Anything else cannot be read.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from panes.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type

Reading = Literal["EXACT", "BY_VALUE"]

_DOUBLE_DIGITS = 15
"""The most digits with which DOUBLE tells all decimal numbers apart."""
_DOUBLE_INTEGERS = 1 << 53
"""Integers up to this one are DOUBLE values."""
_WIDEST = pa.decimal256(76, 0)


def reading_of(stored: pa.DataType, declared: Type) -> Reading | None:
    """How a stored column is read as a declared type; None when it cannot be."""
    if types.is_dictionary(stored):
        inner = reading_of(stored.value_type, declared)
        return inner if inner is None or _is_text(stored.value_type) else "BY_VALUE"
    if types.is_null(stored):
        return "BY_VALUE"
    if types.is_integer(stored):
        return _reading_of_integer(stored, declared)
    if types.is_floating(stored) and declared == DOUBLE:
        return "BY_VALUE" if types.is_float16(stored) else "EXACT"
    if types.is_decimal(stored):
        is_whole = stored.scale <= 0 and declared in (INT, BIGINT)
        return "BY_VALUE" if is_whole or declared == DOUBLE else None
    if _is_text(stored) and declared == STRING:
        return "EXACT"
    if (_is_bytes(stored) or types.is_string_view(stored)) and declared == STRING:
        return "BY_VALUE"
    if types.is_timestamp(stored) and declared == TIMESTAMP:
        return "BY_VALUE" if stored.unit == "ns" else "EXACT"
    if types.is_date(stored) and declared in (DATE, TIMESTAMP):
        return "EXACT" if declared == DATE else "BY_VALUE"
    return "EXACT" if types.is_boolean(stored) and declared == BOOLEAN else None


def type_for(stored: pa.DataType) -> Type | None:
    """The type to declare a stored column as; None when Panes has none that holds it."""
    return next(
        (
            type_
            for type_ in (BOOLEAN, INT, BIGINT, DOUBLE, STRING, DATE, TIMESTAMP)
            if reading_of(stored, type_) is not None
        ),
        None,
    )


def converted(column: pa.ChunkedArray, declared: Type) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """A column as its declared type, and for each value whether that type can hold it; one it cannot is NULL.

    Raises pa.ArrowInvalid for bytes that are not UTF-8.
    """
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    holds = _holds(column, declared)
    usable = column
    if not pc.all(holds).as_py():
        usable = pc.if_else(holds, column, pa.scalar(None, column.type))
    if types.is_date(column.type) and declared == TIMESTAMP:
        usable = usable.cast(pa.timestamp("us"))
    # What would lose something is NULL by now; a decimal is read as the DOUBLE nearest to it.
    return usable.cast(declared.arrow), holds


def why_unreadable(name: str, declared: Type, stored: pa.DataType) -> str:
    """A sentence that says why a column cannot be read, and what to declare instead."""
    other = type_for(stored)
    advice = f"declare it as {other}" if other else "no type of Panes holds that: leave the column out"
    return f"column {name!r} is declared {declared} and stored as {stored}; {advice}"


def _reading_of_integer(stored: pa.DataType, declared: Type) -> Reading | None:
    bits = stored.bit_width + types.is_unsigned_integer(stored)
    if declared == INT:
        return "EXACT" if bits <= pa.int32().bit_width else None
    if declared == BIGINT:
        return "EXACT" if bits <= pa.int64().bit_width else "BY_VALUE"
    if declared == DOUBLE:
        return "EXACT" if stored.bit_width <= pa.int32().bit_width else "BY_VALUE"
    return None


def _holds(column: pa.ChunkedArray, declared: Type) -> pa.ChunkedArray:
    """Whether the declared type can hold each value; it can always hold NULL."""
    stored = column.type
    if types.is_decimal(stored) and declared == DOUBLE:
        digits = pc.replace_substring_regex(column.cast(pa.string()), r"[-.]|E.*", "")
        holds = pc.less_equal(pc.utf8_length(pc.utf8_trim(digits, "0")), _DOUBLE_DIGITS)
    elif types.is_decimal(stored):
        least, greatest = _bounds(declared.arrow)
        wide = column.cast(_WIDEST)
        holds = pc.and_(
            pc.greater_equal(wide, pa.scalar(least).cast(_WIDEST)),
            pc.less_equal(wide, pa.scalar(greatest).cast(_WIDEST)),
        )
    elif types.is_uint64(stored):
        greatest = _DOUBLE_INTEGERS if declared == DOUBLE else _bounds(declared.arrow)[1]
        holds = pc.less_equal(column, pa.scalar(greatest, pa.uint64()))
    elif types.is_integer(stored) and declared == DOUBLE:
        holds = pc.and_(pc.greater_equal(column, -_DOUBLE_INTEGERS), pc.less_equal(column, _DOUBLE_INTEGERS))
    elif types.is_timestamp(stored) and stored.unit == "ns":
        coarser = column.cast(pa.timestamp("us", stored.tz), safe=False)
        holds = pc.equal(coarser.cast(stored), column)
    else:
        return pa.chunked_array([pa.repeat(True, len(column))])
    return pc.fill_null(holds, True)


def _bounds(type_: pa.DataType) -> tuple[int, int]:
    bits = type_.bit_width - 1
    return -(1 << bits), (1 << bits) - 1


def _is_text(type_: pa.DataType) -> bool:
    return bool(types.is_string(type_) or types.is_large_string(type_))


def _is_bytes(type_: pa.DataType) -> bool:
    return bool(types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_))
