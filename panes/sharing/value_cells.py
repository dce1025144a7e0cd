"""The cells into which constants cut the values of an attribute.

The constants c < d < … make these cells: below c, c itself, between c and d, d itself, …, above the last, and
NULL. All values of a cell compare alike with every constant, so what holds for a value is looked up by its cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from panes.delta.rows import fixed_width
from panes.plan.expressions import Value
from panes.plan.types import BOOLEAN, STRING, Type

Places = npt.NDArray[np.int64]

_TABLE = 1 << 18
"""Integers are looked up in a table when the constants lie within such a span, else by binary search."""


@dataclass(frozen=True)
class AttributeValues:
    """An attribute of some tuples as it is looked up: as numbers, or as the numbers of distinct texts."""

    numbers: npt.NDArray[Any]
    nulls: npt.NDArray[np.bool_] | None
    texts: pl.Series | None = None

    @classmethod
    def of(cls, column: pa.Array | pa.ChunkedArray, type_: Type) -> AttributeValues:
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(array, pa.ChunkedArray):  # a column without chunks stays one
            array = pa.array([], array.type)
        nulls = np.asarray(array.is_null()) if array.null_count else None
        if type_ != STRING:
            return cls(_numbers(array), nulls)
        encoded = array.dictionary_encode()
        texts = pl.Series(encoded.dictionary)
        return cls(np.asarray(encoded.indices.fill_null(0)), nulls, texts)


@dataclass
class ValueCells:
    """The distinct constants of an attribute, in order."""

    type: Type
    constants: Any
    """A sorted array of numbers, or a sorted series of texts."""
    _by_number: tuple[int, Places] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, constants: Sequence[Value], type_: Type) -> ValueCells:
        array = pa.array(constants, type_.arrow)
        if type_ == STRING:
            return cls(type_, pl.Series(array).unique().sort())
        cells = cls(type_, np.unique(_numbers(array)))
        cells._by_number = cells._table()
        return cells

    @classmethod
    def common(cls, cells: Sequence[ValueCells]) -> ValueCells:
        """The cells that the constants of several make together."""
        (type_,) = {mine.type for mine in cells}
        if type_ == STRING:
            return cls(type_, pl.concat([mine.constants for mine in cells]).unique().sort())
        found = cls(type_, np.unique(np.concatenate([mine.constants for mine in cells])))
        found._by_number = found._table()
        return found

    def around(self, finer: ValueCells) -> Places:
        """For each cell of finer ones, whose constants include those of these, the cell that it lies in."""
        count = len(finer.constants)
        if self.type == STRING:
            values = AttributeValues(np.arange(count), None, finer.constants)
        else:
            values = AttributeValues(finer.constants, None)
        at = self.locate(values)
        cells = np.empty(len(finer), np.int64)
        cells[1 : 2 * count : 2] = at
        # What lies just below a constant: the cell before that of the constant, if it has one of its own.
        cells[0 : 2 * count : 2] = at - at % 2
        cells[2 * count :] = 2 * len(self.constants), self.null
        return cells

    def __len__(self) -> int:
        return 2 * len(self.constants) + 2

    @property
    def null(self) -> int:
        """The cell of NULL: the last one."""
        return len(self) - 1

    def cell_of(self, constants: Sequence[Value]) -> Places:
        """The cells that hold one value each: those of constants that it was made with."""
        return self.locate(AttributeValues.of(pa.array(constants, self.type.arrow), self.type))

    def locate(self, values: AttributeValues) -> Places:
        """The cell of each value."""
        cells = self._locate_texts(values) if values.texts is not None else self._locate_numbers(values)
        if values.nulls is not None:
            cells = np.where(values.nulls, self.null, cells)
        return cells

    def _locate_texts(self, values: AttributeValues) -> Places:
        assert values.texts is not None
        if not len(values.texts):
            return np.zeros(len(values.numbers), np.int64)
        left = self.constants.search_sorted(values.texts, side="left").to_numpy()
        right = self.constants.search_sorted(values.texts, side="right").to_numpy()
        cells: Places = (left.astype(np.int64) + right)[values.numbers]
        return cells

    def _locate_numbers(self, values: AttributeValues) -> Places:
        numbers = values.numbers
        if self._by_number is not None:
            lowest, table = self._by_number
            cells: Places
            # What lies below or above all constants is brought to the first or the last place.
            inside = np.clip(numbers, lowest, lowest + len(table) - 1)
            cells = table.take(inside - np.asarray(lowest, numbers.dtype))
            return cells
        left = np.searchsorted(self.constants, numbers, side="left")
        cells = left + np.searchsorted(self.constants, numbers, side="right")
        return cells

    def _table(self) -> tuple[int, Places] | None:
        constants = self.constants
        if not len(constants) or constants.dtype.kind != "i":
            return None
        lowest, highest = int(constants[0]) - 1, int(constants[-1]) + 1
        limits = np.iinfo(constants.dtype)
        if highest - lowest > _TABLE or lowest < limits.min or highest > limits.max:
            return None
        around = np.arange(lowest, highest + 1)
        table = np.searchsorted(constants, around, side="left")
        return lowest, table + np.searchsorted(constants, around, side="right")


def _numbers(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array as numbers of one kind, whatever stands where it is NULL."""
    if array.type == BOOLEAN.arrow:
        array = array.cast(pa.int8())
    numbers = fixed_width(array)
    assert numbers is not None, array.type
    return numbers
