"""The types of values in Panes, and their Arrow form.

Few on purpose: every type behaves the same in Spark, in Arrow kernels and in DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

MOST_DIGITS = 38
"""The digits of the widest DECIMAL."""


@dataclass(frozen=True)
class Type:
    """A type by its SQL name.

    `item` is the element type of a list; `precision` and `scale` are those of a DECIMAL: all of its digits, and
    those after the point; `fields` are the names and types of a STRUCT.
    """

    name: str
    item: Type | None = None
    precision: int = 0
    scale: int = 0
    fields: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        if self.item:
            return f"{self.item}[]"
        if self.fields:
            return f"STRUCT<{', '.join(f'{_written(name)} {type_}' for name, type_ in self.fields)}>"
        return f"DECIMAL({self.precision}, {self.scale})" if self.precision else self.name

    @property
    def family(self) -> Type:
        """The type without its parameters: DECIMAL for every DECIMAL."""
        return DECIMAL if self.is_decimal else self

    @property
    def is_nested(self) -> bool:
        """Whether it is a list or a STRUCT."""
        return self.item is not None or bool(self.fields)

    def field(self, name: str) -> tuple[str, Type] | None:
        """The field of a STRUCT that a name means, whatever its case."""
        return next((field for field in self.fields if field[0].casefold() == name.casefold()), None)

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_decimal or self.is_floating

    @property
    def is_integer(self) -> bool:
        return self.name in _DIGITS

    @property
    def is_decimal(self) -> bool:
        return self.name == "DECIMAL"

    @property
    def is_floating(self) -> bool:
        return self in (FLOAT, DOUBLE)

    @property
    def arrow(self) -> pa.DataType:
        if self.item:
            return pa.list_(self.item.arrow)
        if self.fields:
            return pa.struct([(name, type_.arrow) for name, type_ in self.fields])
        return pa.decimal128(self.precision, self.scale) if self.is_decimal else _ARROW[self.name]


BOOLEAN = Type("BOOLEAN")
TINYINT = Type("TINYINT")
SMALLINT = Type("SMALLINT")
INT = Type("INT")
BIGINT = Type("BIGINT")
DECIMAL = Type("DECIMAL")
"""The family of all types that `decimal` gives; no value has it."""
FLOAT = Type("FLOAT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
BINARY = Type("BINARY")
DATE = Type("DATE")
TIMESTAMP = Type("TIMESTAMP")
INTERVAL = Type("INTERVAL")
"""A length of time in microseconds: literals and differences of timestamps, never a stored column."""
NULL = Type("NULL")
"""The type of a bare NULL, until something next to it gives it a real one."""

COLUMN_TYPES = (
    BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DECIMAL, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP
)  # fmt: skip
"""The families of types that a column may have."""

_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
"""The integers, from narrow to wide, with the digits of their greatest values."""

_ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "INTERVAL": pa.duration("us"),
    "NULL": pa.null(),
}


def list_of(item: Type) -> Type:
    return Type("LIST", item)


def struct_of(fields: Iterable[tuple[str, Type]]) -> Type:
    return Type("STRUCT", fields=tuple(fields))


def _written(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else '"' + name.replace('"', '""') + '"'


def decimal(precision: int, scale: int) -> Type:
    return Type("DECIMAL", precision=precision, scale=scale)


def limit_of(integer: Type) -> int:
    """The first number that is too large for a type of integers."""
    return 1 << (int(integer.arrow.bit_width) - 1)


def as_decimal(number: Type) -> Type:
    """The DECIMAL that holds all values of a type of integers; a DECIMAL itself.

    >>> str(as_decimal(INT))
    'DECIMAL(10, 0)'
    """
    return number if number.is_decimal else decimal(_DIGITS[number.name], 0)


def wider(left: Type, right: Type) -> Type | None:
    """The type in which values of both can be compared, or None.

    >>> str(wider(INT, DOUBLE)), str(wider(decimal(5, 2), INT))
    ('DOUBLE', 'DECIMAL(12, 2)')
    """
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if left.is_numeric and right.is_numeric:
        return _wider_number(left, right)
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    return None


def _wider_number(left: Type, right: Type) -> Type:
    if left.is_floating or right.is_floating:
        # FLOAT holds the integers of two bytes, and no longer ones.
        short = (TINYINT, SMALLINT, FLOAT)
        return FLOAT if left in short and right in short else DOUBLE
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda type_: _DIGITS[type_.name])
    left, right = as_decimal(left), as_decimal(right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return decimal(min(whole + scale, MOST_DIGITS), scale)
