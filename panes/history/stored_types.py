"""How the types of Parquet columns are read as the declared types of a stream.

    EXACT     the declared type holds every value of the stored one: a narrower integer or float, text of any
              layout, a coarser time; any reader gives the same values
    BY_VALUE  it holds most values: uint64, decimals, nanoseconds, a long integer as DOUBLE, bytes as text; each
              value is checked, and a row whose value the declared type cannot hold is rejected

Anything else cannot be read.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from panes.delta.decimals import cut, of_integers, rescaled, to_scale
from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MOST_DIGITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    decimal,
    list_of,
    struct_of,
)

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
    if declared.is_nested:
        return _reading_of_nested(stored, declared)
    if types.is_integer(stored):
        return _reading_of_integer(stored, declared)
    if types.is_floating(stored) and declared.is_floating:
        if types.is_float16(stored):
            return "BY_VALUE"
        return "EXACT" if stored.bit_width <= declared.arrow.bit_width else None
    if types.is_decimal(stored):
        return _reading_of_decimal(stored, declared)
    if _is_text(stored) and declared == STRING:
        return "EXACT"
    if (_is_bytes(stored) or types.is_string_view(stored)) and declared == STRING:
        return "BY_VALUE"
    if _is_bytes(stored) and declared == BINARY:
        return "EXACT" if types.is_binary(stored) else "BY_VALUE"
    if types.is_timestamp(stored) and declared == TIMESTAMP:
        return "BY_VALUE" if stored.unit == "ns" else "EXACT"
    if types.is_date(stored) and declared in (DATE, TIMESTAMP):
        return "EXACT" if declared == DATE else "BY_VALUE"
    return "EXACT" if types.is_boolean(stored) and declared == BOOLEAN else None


def type_for(stored: pa.DataType) -> Type | None:
    """The type to declare a stored column as; None when Panes has none that holds it."""
    if types.is_decimal(stored) and stored.precision <= MOST_DIGITS and stored.scale >= 0:
        return decimal(stored.precision, stored.scale)
    if _is_bytes(stored):
        return BINARY
    if types.is_list(stored) or types.is_large_list(stored):
        item = type_for(stored.value_type)
        return None if item is None else list_of(item)
    if types.is_struct(stored):
        fields = [(own.name, type_for(own.type)) for own in stored]
        known = [(name, type_) for name, type_ in fields if type_ is not None]
        return struct_of(known) if known and len(known) == len(fields) else None
    choices = (
        BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, DATE, TIMESTAMP
    )  # fmt: skip
    return next((type_ for type_ in choices if reading_of(stored, type_) is not None), None)


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
    if declared.is_decimal and not types.is_null(column.type):
        convert = of_integers if types.is_integer(column.type) else rescaled
        return _without_rest(convert(_or_zero(holds, column), declared), usable), holds
    if types.is_date(column.type) and declared == TIMESTAMP:
        usable = usable.cast(pa.timestamp("us"))
    # What would lose something is NULL by now; a decimal is read as the DOUBLE nearest to it.
    return usable.cast(declared.arrow), holds


def why_unreadable(name: str, declared: Type, stored: pa.DataType) -> str:
    """A sentence that says why a column cannot be read, and what to declare instead."""
    other = type_for(stored)
    advice = f"declare it as {other}" if other else "no type of Panes holds that: leave the column out"
    return f"column {name!r} is declared {declared} and stored as {stored}; {advice}"


def _reading_of_nested(stored: pa.DataType, declared: Type) -> Reading | None:
    """What is inside must be held exactly: rows are not rejected for a part of a value."""
    if declared.item is not None:
        is_list = types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored)
        if not is_list or reading_of(stored.value_type, declared.item) != "EXACT":
            return None
        return "EXACT" if types.is_list(stored) else "BY_VALUE"
    if not types.is_struct(stored) or stored.num_fields != len(declared.fields):
        return None
    inside = zip(stored, declared.fields, strict=True)
    is_exact = all(
        own.name == name and reading_of(own.type, type_) == "EXACT" for own, (name, type_) in inside
    )
    return "EXACT" if is_exact else None


def _reading_of_integer(stored: pa.DataType, declared: Type) -> Reading | None:
    bits = stored.bit_width + types.is_unsigned_integer(stored)
    if declared.is_integer:
        if bits <= declared.arrow.bit_width:
            return "EXACT"
        return "BY_VALUE" if declared == BIGINT else None
    if declared.is_floating:
        exact = pa.int32() if declared == DOUBLE else pa.int16()
        if stored.bit_width <= exact.bit_width:
            return "EXACT"
        return "BY_VALUE" if declared == DOUBLE else None
    return "BY_VALUE" if declared.is_decimal else None


def _reading_of_decimal(stored: pa.DataType, declared: Type) -> Reading | None:
    if declared.is_decimal:
        is_same = types.is_decimal128(stored) and stored == declared.arrow
        return "EXACT" if is_same else "BY_VALUE"
    is_whole = stored.scale <= 0 and declared.is_integer
    return "BY_VALUE" if is_whole or declared == DOUBLE else None


def _holds(column: pa.ChunkedArray, declared: Type) -> pa.ChunkedArray:
    """Whether the declared type can hold each value; it can always hold NULL."""
    stored = column.type
    if declared.is_decimal and (types.is_decimal(stored) or types.is_integer(stored)):
        holds = _holds_in_decimal(column, declared)
    elif types.is_decimal(stored) and declared == DOUBLE:
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


def _holds_in_decimal(column: pa.ChunkedArray, declared: Type) -> pa.ChunkedArray:
    if types.is_integer(column.type):
        column = column.cast(pa.decimal256(20, 0))
    # Beyond 38 digits before the point it does not fit anyway, and there may be no room for more after it.
    bound = pa.scalar(Decimal(10) ** (declared.precision - declared.scale)).cast(pa.decimal256(76, 0))
    whole = cut(column.cast(pa.decimal256(76, max(column.type.scale, 0))), 0)
    fits = pc.less(pc.abs(whole), bound)
    small = _or_zero(fits, column)
    kept = to_scale(small, declared.scale)
    return pc.and_(fits, pc.equal(*(value.cast(pa.decimal256(76, 38)) for value in (kept, small))))


def _or_zero(holds: pa.ChunkedArray, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Casts of decimals also look at what stands where a value is NULL."""
    there = pc.and_(pc.fill_null(holds, False), pc.is_valid(column))
    zero = pa.scalar(Decimal(0) if types.is_decimal(column.type) else 0, column.type)
    return pc.if_else(there, column, zero)


def _without_rest(column: pa.ChunkedArray, usable: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.is_valid(usable), column, pa.scalar(None, column.type))


def _bounds(type_: pa.DataType) -> tuple[int, int]:
    bits = type_.bit_width - 1
    return -(1 << bits), (1 << bits) - 1


def _is_text(type_: pa.DataType) -> bool:
    return bool(types.is_string(type_) or types.is_large_string(type_))


def _is_bytes(type_: pa.DataType) -> bool:
    return bool(types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_))
