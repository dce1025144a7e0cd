"""Lists and STRUCTs over Arrow columns: making lists, and taking items and fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.comparison import equal
from panes.delta.hashing import list_lengths
from panes.delta.rows import Positions
from panes.delta.zeros import unsigned_zeros
from panes.plan.types import Type

Datum = Any


def array(type_: Type, *items: Datum) -> Datum:
    """A list of one item of each argument."""
    if all(isinstance(item, pa.Scalar) for item in items):
        return pa.scalar([item.as_py() for item in items], type_.arrow)
    rows = next(len(item) for item in items if not isinstance(item, pa.Scalar))
    columns = [_whole(pa.repeat(item, rows) if isinstance(item, pa.Scalar) else item) for item in items]
    # Item after item for each row, out of column after column.
    places = np.arange(len(columns) * rows).reshape(len(columns), rows).T.ravel()
    values = pa.concat_arrays(columns).take(pa.array(places))
    offsets = np.arange(0, len(values) + 1, len(columns), dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets[: rows + 1]), values, type=type_.arrow)


def element(lists: Datum, place: Datum) -> Datum:
    """The item at a place, counted from 1, or from the end when it is negative; NULL where there is none."""
    if isinstance(lists, pa.Scalar):
        if isinstance(place, pa.Scalar):
            return _first(element(_one(lists), place))
        lists = pa.repeat(lists, len(place))
    whole = _whole(lists)
    at = pa.repeat(place, len(whole)) if isinstance(place, pa.Scalar) else _whole(place)
    lengths = list_lengths(whole)
    wanted = np.asarray(at.fill_null(0))
    inside = (wanted != 0) & (wanted >= -lengths) & (wanted <= lengths)
    starts = np.cumsum(lengths) - lengths
    places = starts + np.where(wanted < 0, lengths + wanted, wanted - 1)
    return whole.flatten().take(pa.array(np.where(inside, places, 0), mask=~inside))


def cardinality(lists: Datum) -> Datum:
    return pc.cast(pc.list_value_length(lists), pa.int64())


def array_contains(lists: Datum, item: Datum) -> Datum:
    if isinstance(lists, pa.Scalar):
        if isinstance(item, pa.Scalar):
            return _first(array_contains(_one(lists), item))
        lists = pa.repeat(lists, len(item))
    whole = _whole(lists)
    wanted = pa.repeat(item, len(whole)) if isinstance(item, pa.Scalar) else _whole(item)
    owner, items = items_of(whole)
    same = np.asarray(equal(items, wanted.take(pa.array(owner))).fill_null(False))
    found = np.zeros(len(whole), np.bool_)
    found[owner[same]] = True
    known = pc.and_(pc.is_valid(whole), pc.is_valid(wanted))
    return pc.if_else(known, pa.array(found), pa.scalar(None, pa.bool_()))


def items_of(lists: pa.Array | pa.ChunkedArray) -> tuple[Positions, pa.Array]:
    """The items of all lists, and for each the place of its list."""
    whole = _whole(lists)
    return np.repeat(np.arange(len(whole)), list_lengths(whole)), unsigned_zeros(whole.flatten())


def field(structs: Datum, name: str) -> Datum:
    return pc.struct_field(structs, name)


def _one(scalar: pa.Scalar) -> pa.Array:
    return pa.repeat(scalar, 1)


def _first(column: pa.Array) -> pa.Scalar:
    return column[0]


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    whole = column.combine_chunks()
    return pa.array([], column.type) if isinstance(whole, pa.ChunkedArray) else whole
