"""Expressions over Arrow columns.

`evaluate` gives the column of an expression over a table, `mask_of` the rows for which a condition is true.
What each function does is in `delta/arrow_functions.py`, by the names of `plan/functions.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta import lists
from panes.delta.arrow_functions import KERNELS
from panes.delta.casts import cast
from panes.delta.cells import cells
from panes.delta.own_values import own_values
from panes.delta.zeros import unsigned_zeros
from panes.errors import EvaluationError
from panes.plan.expressions import (
    Call,
    Case,
    Cast,
    Cells,
    Column,
    Constants,
    Expression,
    FieldOf,
    Literal,
    Now,
    OwnCall,
)
from panes.plan.types import BOOLEAN

Datum = Any


def evaluate(expression: Expression, table: pa.Table) -> pa.Array | pa.ChunkedArray:
    """The value of the expression for each row of the table."""
    try:
        column = _spread(_evaluate(expression, table), expression.type.arrow, table.num_rows)
    except pa.ArrowInvalid as error:
        raise EvaluationError(f"{expression}: {error}") from error
    return unsigned_zeros(column)


def mask_of(predicate: Expression, table: pa.Table) -> pa.Array | pa.ChunkedArray:
    """Which rows the predicate is true for: neither false nor NULL."""
    return pc.fill_null(evaluate(predicate, table), False)


def _evaluate(expression: Expression, table: pa.Table) -> Datum:
    if isinstance(expression, Column):
        return table.column(expression.name)
    if isinstance(expression, Now):
        raise EvaluationError("now() is the instant of an answer, and there is none here; write the instant")
    if isinstance(expression, Literal):
        return pa.scalar(expression.value, expression.type.arrow)
    if isinstance(expression, Constants):
        return expression.scalar
    if isinstance(expression, Call):
        if isinstance(expression, OwnCall):
            columns = [evaluate(arg, table) for arg in expression.args]
            return own_values(expression, columns, table.num_rows)
        args = [_evaluate(arg, table) for arg in expression.args]
        return KERNELS[expression.function](expression.type, *args)
    if isinstance(expression, Case):
        return _case(expression, table)
    if isinstance(expression, Cast):
        return cast(_evaluate(expression.arg, table), expression.arg.type, expression.type)
    if isinstance(expression, FieldOf):
        return lists.field(_evaluate(expression.arg, table), expression.name)
    if isinstance(expression, Cells):
        numbers = _whole(evaluate(expression.arg, table))
        return cells(numbers, expression.width, expression.low, expression.high)
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _case(case: Case, table: pa.Table) -> Datum:
    """Each branch sees only the rows that reach it: a branch may guard another against errors."""
    answer: Any = np.full(table.num_rows, -1)
    parts: list[pa.Array] = []
    rows = np.arange(table.num_rows)
    rest = table
    taken = 0
    for condition, value in (*case.branches, (None, case.otherwise)):
        applies = Literal(BOOLEAN, True) if condition is None else condition
        mask = np.asarray(mask_of(applies, rest))
        chosen = rest.filter(pa.array(mask))
        parts.append(_whole(evaluate(value, chosen)))
        answer[rows[mask]] = np.arange(taken, taken + chosen.num_rows)
        taken += chosen.num_rows
        rest = rest.filter(pa.array(~mask))
        rows = rows[~mask]
    return pa.concat_arrays(parts).take(pa.array(answer))


def _spread(datum: Datum, type_: pa.DataType, rows: int) -> pa.Array | pa.ChunkedArray:
    if isinstance(datum, pa.Scalar):
        # Arrow does not repeat a list no times.
        is_null = not datum.is_valid or not rows
        return pa.nulls(rows, type_) if is_null else pa.repeat(datum.cast(type_), rows)
    return datum if datum.type == type_ else datum.cast(type_)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
