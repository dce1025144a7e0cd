"""Gathering rows of Arrow tables by position, at the speed of numpy where the columns allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]

_DTYPES: dict[int, np.dtype[Any]] = {
    **{pa.type_for_alias(f"int{bits}").id: np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{pa.type_for_alias(f"uint{bits}").id: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{kind.id: np.dtype(f"f{kind.bit_width // 8}") for kind in (pa.float32(), pa.float64())},
    **{
        kind.id: np.dtype(f"i{kind.bit_width // 8}")
        for kind in (pa.date32(), pa.date64(), pa.timestamp("us"), pa.duration("us"))
    },
}
"""How numpy sees the values of types of fixed width."""


def array_of(table: pa.Table, name: str) -> pa.Array:
    """A column as one array."""
    return _as_one(table.column(name))


def _as_one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def fixed_width(array: pa.Array) -> npt.NDArray[Any] | None:
    """The values of an array as numpy sees them, without a copy; None where they are not of fixed width.

    Positions that are NULL hold anything. Dates and times come as their integers.
    """
    dtype = _DTYPES.get(array.type.id)
    if dtype is None:
        return None
    values = array.buffers()[1]
    if values is None or len(array) == 0:
        return np.zeros(len(array), dtype=dtype)
    return np.frombuffer(values, dtype=dtype, count=len(array), offset=array.offset * dtype.itemsize)


def words_of(decimals: pa.Array) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The low and the high 64 bits of DECIMALs, without a copy; positions that are NULL hold anything."""
    values = decimals.buffers()[1]
    if values is None or len(decimals) == 0:
        return np.zeros(len(decimals), np.uint64), np.zeros(len(decimals), np.int64)
    words = np.frombuffer(values, dtype="<u8", count=2 * len(decimals), offset=decimals.offset * 16)
    return words[::2], words[1::2].view(np.int64)


def from_words(low: npt.NDArray[np.uint64], high: npt.NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """The inverse of `words_of`."""
    words = np.column_stack([low, high.view(np.uint64)])
    return pa.Array.from_buffers(kind, len(low), [None, pa.py_buffer(np.ascontiguousarray(words))])


def from_fixed_width(values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """The inverse of `fixed_width` for values without NULL, without a copy."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def take_column(array: pa.Array, positions: Positions) -> pa.Array:
    values = fixed_width(array) if array.null_count == 0 else None
    if values is None:
        return array.take(pa.array(positions))
    return from_fixed_width(values[positions], array.type)


def take(table: pa.Table, positions: Positions, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows at the positions, in that order; `columns` narrows the result."""
    if columns is not None:
        table = table.select(list(columns))
    arrays = [take_column(_as_one(column), positions) for column in table.itercolumns()]
    return pa.Table.from_arrays(arrays, schema=table.schema)


def take_and_set(table: pa.Table, positions: Positions, name: str, values: npt.NDArray[Any]) -> pa.Table:
    """The rows at the positions, with these values in a column of theirs."""
    names = table.column_names
    arrays = [
        pa.array(values) if other == name else take_column(_as_one(column), positions)
        for other, column in zip(names, table.itercolumns(), strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=names)


def where(mask: npt.NDArray[np.bool_]) -> Positions:
    positions: Positions = np.flatnonzero(mask)
    return positions


def concat(tables: Sequence[pa.Table]) -> pa.Table:
    """All rows in one table of one chunk. The first table gives the order of the columns."""
    first = tables[0]
    if len(tables) == 1:
        return first
    if all(table.schema.equals(first.schema) for table in tables[1:]):
        return pa.concat_tables(tables).combine_chunks()
    names = first.column_names
    # Whether a column may be NULL differs with where its rows come from; the values decide, not the schema.
    together = pa.concat_tables([table.select(names) for table in tables], promote_options="default")
    return together.combine_chunks()


def int64(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """A column of int64 without NULL, as numpy."""
    values: npt.NDArray[np.int64] = array_of(table, name).to_numpy(zero_copy_only=False)
    return values


def with_column(table: pa.Table, name: str, values: npt.NDArray[Any]) -> pa.Table:
    """The table with one column set, in place when there is one of that name."""
    array = pa.array(values)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, array)
    return table.append_column(name, array)


def without(table: pa.Table, *names: str) -> pa.Table:
    return table.drop_columns([name for name in names if name in table.column_names])
