"""Values in the declared type of a column, exactly: what would lose value is refused with its row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.decimals import rescaled
from panes.ingest.inexact import Inexact, shown
from panes.ingest.nested_values import is_nested_like, nested_column, nested_values
from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    limit_of,
)

_EXACT_IN_DOUBLE = 2**53
_EXACT_IN_FLOAT = 2**24
_BEYOND_FLOAT = (2 - 2**-24) * 2.0**127
"""The least number that is too large to be rounded to a FLOAT."""
WIDEST_DECIMAL = pa.decimal256(76, 38)
_PLAIN: dict[Type, type] = {
    BOOLEAN: bool, TINYINT: int, SMALLINT: int, INT: int, BIGINT: int, DECIMAL: Decimal, FLOAT: type(None),
    DOUBLE: float, STRING: str, BINARY: bytes, DATE: date, TIMESTAMP: datetime,
}  # fmt: skip
"""The types of Python that Arrow takes as they are, by families; FLOAT has none, as numbers may be too large."""
_MISSING = ("NaTType", "NAType")
"""The types of the missing values of pandas, which is not imported for them."""

FAILURES = (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError)
"""What a value that does not fit raises."""


def exact(values: Sequence[Any] | pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
    """A column in a declared type. Raises Inexact for the first value that the type does not take.

    Integers take numbers without a fraction, DECIMAL takes numbers with no more digits than it has, DOUBLE takes
    integers that it holds exactly, and decimals. FLOAT takes the same, and doubles within its range. TIMESTAMP
    takes instants in whole microseconds (UTC where there is no zone) and dates, DATE takes dates and instants at
    midnight UTC.
    """
    if isinstance(values, pa.ChunkedArray):
        return _of_column(values, type_)
    if type_.is_nested:
        return pa.chunked_array([nested_values(values, type_, exact)])
    return pa.chunked_array([_of_values(values, type_)])


# Columns of Arrow.


def _of_column(column: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array(map(_decoded, column.chunks), _plain_text(column.type.value_type))
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), type_.arrow)])
    if type_.is_nested and is_nested_like(column.type, type_):
        return pa.chunked_array([nested_column(column, type_, exact)])
    if type_.is_nested or not _is_taken(column.type, type_):
        row = pc.index(pc.is_valid(column), True).as_py()
        raise Inexact(row, f"{shown(column[row])} is of type {column.type}, and the column is {type_}")
    cast = _cast(type_)
    try:
        return cast(column)
    except FAILURES:
        row = first_failure(cast, column)
        raise Inexact(row, f"{shown(column[row])} does not fit {type_} without loss") from None


def _decoded(chunk: pa.DictionaryArray) -> pa.Array:
    values = chunk.dictionary.cast(_plain_text(chunk.dictionary.type))
    return pa.DictionaryArray.from_arrays(chunk.indices, values).dictionary_decode()


def _plain_text(type_: pa.DataType) -> pa.DataType:
    """Texts have several types in Arrow, of which not all can be taken from a dictionary."""
    return pa.string() if pa.types.is_string_view(type_) or pa.types.is_large_string(type_) else type_


def _is_taken(given: pa.DataType, type_: Type) -> bool:
    is_number = pa.types.is_integer(given) or pa.types.is_floating(given) or pa.types.is_decimal(given)
    is_time = pa.types.is_timestamp(given) or pa.types.is_date(given)
    if type_.is_numeric:
        return bool(is_number)
    if type_ == BINARY:
        return _is_bytes(given)
    if type_ in (DATE, TIMESTAMP):
        return bool(is_time)
    if type_ == BOOLEAN:
        return bool(pa.types.is_boolean(given))
    return bool(_plain_text(given) == pa.string())


def _is_bytes(given: pa.DataType) -> bool:
    kinds = (
        pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary
    )  # fmt: skip
    return any(is_kind(given) for is_kind in kinds)


def _cast(type_: Type) -> Callable[[pa.ChunkedArray], pa.ChunkedArray]:
    if type_.is_decimal:
        return lambda column: _decimals(column, type_)
    if type_ == FLOAT:
        return _floats

    def cast(column: pa.ChunkedArray) -> pa.ChunkedArray:
        result = column.cast(type_.arrow)
        if type_ == STRING:
            result.validate(full=True)
        elif type_ == DATE and pc.all(pc.equal(result.cast(column.type), column)).as_py() is False:
            raise ValueError("not at midnight")
        return result

    return cast


def _decimals(column: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
    if pa.types.is_floating(column.type):
        # The digits that a double is written with: 0.1 is meant, and not the double next to it.
        column = column.cast(pa.float64()).cast(pa.string())
    exact = column.cast(WIDEST_DECIMAL)
    result = rescaled(exact, type_)
    if pc.all(pc.equal(result.cast(WIDEST_DECIMAL), exact)).as_py() is False:
        raise ValueError("more digits after the point than the type has")
    return result


def _floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_integer(column.type):
        return column.cast(FLOAT.arrow)  # fails for what it does not hold
    doubles = column.cast(pa.float64())
    result = doubles.cast(FLOAT.arrow)
    if pc.any(pc.and_(pc.is_finite(doubles), pc.is_inf(result))).as_py():
        raise ValueError("out of range")
    return result


def first_failure(cast: Callable[[pa.ChunkedArray], object], column: pa.ChunkedArray) -> int:
    """The first row that a cast refuses, by halving."""
    first, end = 0, len(column)
    while end - first > 1:
        middle = (first + end) // 2
        try:
            cast(column.slice(first, middle - first))
        except FAILURES:
            end = middle
        else:
            first = middle
    return first


# Values of Python.


def _of_values(values: Sequence[Any], type_: Type) -> pa.Array:
    if {type(value) for value in values} <= {_PLAIN[type_.family], type(None)}:
        try:
            return pa.array(values, type_.arrow)
        except FAILURES:
            pass  # found below, with its row
    given = []
    for row, value in enumerate(values):
        try:
            given.append(_value(value, type_))
        except FAILURES:
            problem = f"{shown(value)} does not fit {type_} without loss"
            plain = value.item() if isinstance(value, np.generic) else value
            if not isinstance(value, np.datetime64) and not _is_taken_value(plain, type_):
                problem = f"{shown(value)} is of type {type(value).__name__}, and the column is {type_}"
            raise Inexact(row, problem) from None
    return pa.array(given, type_.arrow)


_TAKEN: dict[Type, tuple[type, ...]] = {
    BOOLEAN: (bool,),
    STRING: (str,),
    BINARY: (bytes, bytearray, memoryview),
    DATE: (date,),
    TIMESTAMP: (date,),
}
_NUMBERS = (int, float, Decimal)


def _is_taken_value(value: Any, type_: Type) -> bool:
    taken = _NUMBERS if type_.is_numeric else _TAKEN[type_]
    return isinstance(value, taken) and (type_ == BOOLEAN or not isinstance(value, bool))


def _moment(value: np.datetime64) -> datetime:
    moment = value.astype("datetime64[us]")
    found = moment.item()
    if moment.astype(value.dtype) != value or not isinstance(found, datetime):
        raise ValueError
    return found


def _value(value: Any, type_: Type) -> Any:
    """The value as Arrow takes it in the type; raises one of FAILURES when it does not fit."""
    if isinstance(value, np.datetime64):
        value = None if np.isnat(value) else _moment(value)
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in _MISSING:
        return None
    if not _is_taken_value(value, type_):
        raise TypeError
    if type_.is_integer:
        return _whole(value, limit_of(type_))
    if type_.is_decimal:
        return _decimal(value, type_)
    if type_.is_floating:
        return _floating(value, type_)
    if type_ == BINARY:
        return bytes(value)
    if type_ == STRING:
        value.encode()  # a lone surrogate is no text
        return str(value)
    if type_ in (DATE, TIMESTAMP):
        return _time(value, type_)
    return value


def _whole(value: float | Decimal, limit: int) -> int:
    whole = int(value)
    if whole != value or not -limit <= whole < limit:
        raise ValueError
    return whole


def _decimal(value: float | Decimal, type_: Type) -> Decimal:
    # A double means the digits that it is written with.
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    pa.scalar(exact, type_.arrow)  # raises when it has too many digits
    return exact


def _floating(value: float | Decimal, type_: Type) -> float:
    most = _EXACT_IN_DOUBLE if type_ == DOUBLE else _EXACT_IN_FLOAT
    if isinstance(value, int) and abs(value) > most:
        raise ValueError
    number = float(value)
    if type_ == FLOAT and _BEYOND_FLOAT <= abs(number) < math.inf:
        raise ValueError
    return number


def _time(value: date, type_: Type) -> date:
    if not isinstance(value, datetime):
        return value if type_ == DATE else datetime(value.year, value.month, value.day, tzinfo=UTC)
    if getattr(value, "nanosecond", 0):  # of pandas
        raise ValueError
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    moment = datetime.combine(moment.date(), moment.time(), UTC)
    if type_ == TIMESTAMP:
        return moment
    if moment.time() != datetime.min.time():
        raise ValueError
    return moment.date()
