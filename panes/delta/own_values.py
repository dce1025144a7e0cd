"""Functions of users over Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.imported import imported
from panes.errors import EvaluationError
from panes.plan.expressions import OwnCall

Column = Any
"""An array, in one piece or in several."""


def own_values(call: OwnCall, args: Sequence[Column], rows: int) -> pa.Array:
    """What a function of a user gives for each row. Raises EvaluationError when it fails, or gives something else
    than it should.

    Unless it asks for NULLs it is not called for rows that have one, and is never called for no rows.
    """
    columns = [arg.combine_chunks() if isinstance(arg, pa.ChunkedArray) else arg for arg in args]
    there = np.ones(rows, np.bool_)
    for column in () if call.takes_null else columns:
        there &= np.asarray(pc.is_valid(column))
    if there.all():
        return _called(call, columns, rows)
    some = _called(call, [column.filter(pa.array(there)) for column in columns], int(there.sum()))
    places = np.cumsum(there) - 1
    return some.take(pa.array(places, mask=~there))


def _called(call: OwnCall, columns: Sequence[pa.Array], rows: int) -> pa.Array:
    if rows == 0:
        return pa.array([], call.type.arrow)
    function = imported(call.path)
    try:
        if call.is_vectorized:
            given = function(*columns)
        else:
            lists = [column.to_pylist() for column in columns]
            given = [function(*(values[row] for values in lists)) for row in range(rows)]
    except Exception as error:
        raise EvaluationError(
            f"the function {call.function} ({call.path}) failed: {type(error).__name__}: {error}"
        ) from error
    return _typed(call, given, rows)


def _typed(call: OwnCall, given: object, rows: int) -> pa.Array:
    who = f"the function {call.function} ({call.path})"
    try:
        whole = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given
        result = (
            whole.cast(call.type.arrow) if isinstance(whole, pa.Array) else pa.array(whole, call.type.arrow)
        )
    except Exception as error:
        raise EvaluationError(f"{who} gave what is no {call.type}: {error}") from error
    if len(result) != rows:
        raise EvaluationError(f"{who} gave {len(result)} values for {rows} rows")
    return result
