"""Lists and STRUCTs in the declared type of a column: what is inside is converted as columns of their own are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.hashing import list_lengths
from panes.ingest.inexact import Inexact, shown
from panes.plan.types import Type

Convert = Callable[[Any, Type], pa.Array | pa.ChunkedArray]


def is_nested_like(given: pa.DataType, type_: Type) -> bool:
    """Whether a column of Arrow is a list where a list is wanted, or has exactly the fields that are wanted."""
    if type_.item is not None:
        kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        return any(is_kind(given) for is_kind in kinds)
    return bool(pa.types.is_struct(given)) and {own.name for own in given} == {
        name for name, _ in type_.fields
    }


def nested_column(column: pa.ChunkedArray, type_: Type, convert: Convert) -> pa.Array:
    """A column of Arrow; `convert` converts what is inside. Raises Inexact with the row of the column."""
    whole = column.combine_chunks()
    if type_.item is not None:
        whole = whole.cast(pa.list_(whole.type.value_type))
        return _list(whole.is_valid(), list_lengths(whole), whole.flatten(), type_, convert)
    own = dict(zip((field.name for field in whole.type), whole.flatten(), strict=True))
    return _struct(whole.is_valid(), own, type_, convert)


def nested_values(values: Sequence[Any], type_: Type, convert: Convert) -> pa.Array:
    """Values of Python: lists, and dictionaries with exactly the fields that are wanted."""
    wanted: tuple[type, ...] = (list, tuple, np.ndarray) if type_.item is not None else (Mapping,)
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, wanted):
            raise Inexact(row, f"{shown(value)} is of type {type(value).__name__}, and the column is {type_}")
        names = {name for name, _ in type_.fields}
        if isinstance(value, Mapping) and value.keys() != names:
            raise Inexact(row, f"{shown(value)} has not the fields of {type_}")
    there = pa.array([value is not None for value in values], pa.bool_())
    if type_.item is not None:
        lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
        items = [item for value in values if value is not None for item in value]
        return _list(there, lengths, items, type_, convert)
    own = {name: [None if v is None else v[name] for v in values] for name, _ in type_.fields}
    return _struct(there, own, type_, convert)


def _list(there: pa.Array, lengths: Any, items: Any, type_: Type, convert: Convert) -> pa.Array:
    assert type_.item is not None
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    try:
        inside = _inside(items, type_.item, convert)
    except Inexact as error:
        row = int(np.searchsorted(offsets, error.row, side="right")) - 1
        raise Inexact(row, error.problem) from None
    # An offset that is NULL makes the list from it on NULL.
    known = np.append(np.asarray(there), True)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32(), mask=~known), inside)
    return lists.cast(type_.arrow)


def _struct(there: pa.Array, own: Mapping[str, Any], type_: Type, convert: Convert) -> pa.Array:
    columns = [_inside(own[name], field, convert) for name, field in type_.fields]
    return pa.StructArray.from_arrays(columns, fields=list(type_.arrow), mask=pc.invert(there))


def _inside(values: Any, type_: Type, convert: Convert) -> pa.Array:
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    found = convert(values, type_)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
