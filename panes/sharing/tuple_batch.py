"""A batch of tuples on its way through an index."""

from __future__ import annotations

from collections.abc import Iterable
from time import thread_time_ns

import numpy as np
import pyarrow as pa

from panes.delta.delta import TS
from panes.delta.evaluate import evaluate
from panes.delta.rows import array_of, take_column
from panes.delta.zeros import unsigned_zeros
from panes.plan.expressions import Column, Expression, walk
from panes.plan.nodes import TIME
from panes.sharing.bits import At, Ints
from panes.sharing.common_cells import CommonCells
from panes.sharing.member_block import Attribute
from panes.sharing.value_cells import AttributeValues


class TupleBatch:
    """Tuples of a stream, or pairs of two, and the common cells in which their attributes lie.

    An attribute is looked up when the first group asks for it, once for all tuples and all groups.
    """

    def __init__(self, rows: pa.Table, stream: str | None, cells: CommonCells) -> None:
        """`rows` have the columns of the stream, with or without its name in front, and `_ts`."""
        self.count: int = rows.num_rows
        self._rows = rows
        self._prefix = "" if stream is None else f"{stream}."
        self._cells = cells
        self.looked_up_us = 0.0
        """The CPU time that the looking up took so far. It is spent for all groups, whoever asks first."""
        self._columns: dict[str, pa.Array] = {}
        self._located: dict[Expression, Ints] = {}

    def cells(self, attribute: Attribute, at: At) -> Ints:
        """The cell of some tuples among those of a block."""
        located = self._of(attribute.expression)[at]
        inside = self._cells.inside(attribute)
        return located if inside is None else inside.take(located)

    def taken(self, columns: Iterable[Column], at: Ints) -> dict[str, pa.Array]:
        """Columns of some tuples."""
        return {column.name: take_column(self._column(column), at) for column in columns}

    def _of(self, expression: Expression) -> Ints:
        if expression not in self._located:
            began = thread_time_ns()
            read = {part.name: self._column(part) for part in walk(expression) if isinstance(part, Column)}
            values = AttributeValues.of(evaluate(expression, pa.table(read)), expression.type)
            found = self._cells.of(expression).locate(values)
            self._located[expression] = found.astype(np.intp, copy=False)
            self.looked_up_us += (thread_time_ns() - began) / 1000
        return self._located[expression]

    def _column(self, column: Column) -> pa.Array:
        name = column.name
        if name not in self._columns:
            there = name if name in self._rows.column_names else self._bare(name)
            found = self._rows.column(there).cast(column.type.arrow)
            self._columns[name] = array_of(pa.table({name: unsigned_zeros(found)}), name)
        return self._columns[name]

    def _bare(self, name: str) -> str:
        """What the stream itself calls a column."""
        attribute = name.removeprefix(self._prefix)
        return TS if attribute == TIME else attribute
