"""The types of values in Panes, and their Arrow form.

Few on purpose: every type behaves the same in Spark, in Arrow kernels and in DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Type:
    """A type by its SQL name; `item` is the element type of a list."""

    name: str
    item: Type | None = None

    def __str__(self) -> str:
        return f"{self.item}[]" if self.item else self.name

    @property
    def is_numeric(self) -> bool:
        return self in (INT, BIGINT, DOUBLE)

    @property
    def is_integer(self) -> bool:
        return self in (INT, BIGINT)

    @property
    def arrow(self) -> pa.DataType:
        return pa.list_(self.item.arrow) if self.item else _ARROW[self.name]


BOOLEAN = Type("BOOLEAN")
INT = Type("INT")
BIGINT = Type("BIGINT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
DATE = Type("DATE")
TIMESTAMP = Type("TIMESTAMP")
INTERVAL = Type("INTERVAL")
"""A length of time in microseconds: literals and differences of timestamps, never a stored column."""
NULL = Type("NULL")
"""The type of a bare NULL, until something next to it gives it a real one."""

PAIR = Type("PAIR")
"""Two values as bytes, in the order of pairs: only in the states of aggregates of pairs."""

COLUMN_TYPES = (BOOLEAN, INT, BIGINT, DOUBLE, STRING, DATE, TIMESTAMP)

_ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "INTERVAL": pa.duration("us"),
    "NULL": pa.null(),
    "PAIR": pa.binary(),
}


def list_of(item: Type) -> Type:
    return Type("LIST", item)


def wider(left: Type, right: Type) -> Type | None:
    """The type in which values of both can be compared, or None.

    >>> str(wider(INT, DOUBLE))
    'DOUBLE'
    """
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    order = (INT, BIGINT, DOUBLE)
    if left in order and right in order:
        return order[max(order.index(left), order.index(right))]
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    return None
