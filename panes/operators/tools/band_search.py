"""Looking for the rows of a table that lie in a band around others: by sorted values, without a product."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.types as pat

from panes.delta.evaluate import evaluate
from panes.delta.moved import moved
from panes.delta.rows import Positions, fixed_width, where
from panes.plan.band import Band, Shift
from panes.plan.expressions import Expression
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.hash_search import expanded

Pairs = tuple[Positions, Positions]
"""Positions in what is looked for, and those in the table that lie in the band around them."""

_ROUNDING = 2.0**-48
"""By which part of the numbers a band of floating numbers is wider, so that no rounding leaves out a pair."""


@dataclass(frozen=True)
class _Sorted:
    """The values of an expression that are not NULL, in their order, and where they are."""

    values: npt.NDArray[Any] | pl.Series
    places: Positions


_sorted: WeakKeyDictionary[Chunk, dict[Expression, _Sorted]] = WeakKeyDictionary()
"""Of chunks that were searched: a chunk never changes. It is never stored."""


@dataclass(frozen=True)
class BandSearch:
    """Finds the rows, with the right side of a band, that lie in it around needles, with the left side."""

    band: Band

    def in_chunk(self, needles: pa.Table, chunk: Chunk) -> Pairs:
        """The rows of a chunk, which is sorted when it is first searched."""
        known = _sorted.setdefault(chunk, {})
        if self.band.right not in known:
            known[self.band.right] = _sort(self.band.right, chunk.table)
        return _search(self.band, needles, known[self.band.right])

    def in_table(self, needles: pa.Table, table: pa.Table) -> Pairs:
        """The rows of a table that is searched once."""
        return _search(self.band, needles, _sort(self.band.right, table))


def _sort(expression: Expression, table: pa.Table) -> _Sorted:
    values, places = _values(expression, table)
    if isinstance(values, pl.Series):
        order = values.arg_sort().to_numpy().astype(np.int64)
        return _Sorted(values.gather(order), places[order])
    # NaN is the greatest value here, and numpy sorts it last.
    order = np.argsort(values, kind="stable")
    return _Sorted(values[order], places[order])


def _search(band: Band, needles: pa.Table, stored: _Sorted) -> Pairs:
    values, places = _values(band.left, needles)
    total = len(stored.places)
    if not len(places) or not total:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    begin: Positions = np.zeros(len(places), dtype=np.int64)
    end: Positions = np.full(len(places), total, dtype=np.int64)
    if isinstance(values, pl.Series):
        assert isinstance(stored.values, pl.Series)
        if band.low > -inf:
            begin = stored.values.search_sorted(values, "left").to_numpy().astype(np.int64)
        if band.high < inf:
            end = stored.values.search_sorted(values, "right").to_numpy().astype(np.int64)
    else:
        slack = _slack(band, values)
        if band.low > -inf:
            begin = np.searchsorted(stored.values, _moved(values, band.low, -slack), "left")
        if band.high < inf:
            end = np.searchsorted(stored.values, _moved(values, band.high, slack), "right")
    counts = np.maximum(end - begin, 0)
    found = where(counts > 0)
    at, place = expanded(found, begin[found], counts[found])
    return places[at], stored.places[place]


def _values(expression: Expression, table: pa.Table) -> tuple[npt.NDArray[Any] | pl.Series, Positions]:
    """The values that are not NULL, as numbers in the same order or as texts, and where they are."""
    column = evaluate(expression, table)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    places = where(array.is_valid().to_numpy(zero_copy_only=False))
    if array.null_count:
        array = array.drop_null()
    if pat.is_string(array.type) or pat.is_large_string(array.type):
        return pl.Series(array), places
    if pat.is_decimal(array.type):
        return array.cast(pa.float64()).to_numpy(zero_copy_only=False), places
    if pat.is_boolean(array.type):
        return array.to_numpy(zero_copy_only=False).astype(np.int64), places
    values = fixed_width(array)
    assert values is not None, f"{array.type} has no order"
    return values.astype(np.float64 if pat.is_floating(array.type) else np.int64), places


def _slack(band: Band, values: npt.NDArray[Any]) -> npt.NDArray[Any] | int:
    """By how much the ends of a band around values are moved out: whole numbers are exact."""
    if values.dtype.kind != "f":
        return 0
    slack: npt.NDArray[Any] = _ROUNDING * (np.abs(np.where(np.isfinite(values), values, 0.0)) + band.size)
    return slack


def _moved(values: npt.NDArray[Any], by: Shift, slack: npt.NDArray[Any] | int) -> npt.NDArray[Any]:
    """The values moved by a distance, floating ones by the slack, too."""
    if values.dtype.kind == "f":
        result: npt.NDArray[Any] = values + by + slack
        return result
    return moved(values, int(by))
