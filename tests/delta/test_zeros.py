"""No -0.0 in a relation."""

from __future__ import annotations

import math

import pyarrow as pa

from panes.delta.evaluate import evaluate
from panes.delta.zeros import with_unsigned_zeros
from panes.plan.expressions import Call, Column, Literal
from panes.plan.types import DOUBLE


def signs(column: pa.ChunkedArray | pa.Array) -> list[float]:
    return [math.copysign(1.0, value) for value in column.to_pylist() if value is not None]


def test_minus_zero_becomes_zero_and_all_else_stays() -> None:
    table = pa.table({"x": pa.array([-0.0, 0.0, None, -1.5, math.inf, math.nan]), "n": [1, 2, 3, 4, 5, 6]})
    made = with_unsigned_zeros(table)
    assert signs(made["x"])[:2] == [1.0, 1.0]
    assert made["x"].to_pylist()[1:5] == [0.0, None, -1.5, math.inf]
    assert math.isnan(made["x"][5].as_py())
    assert made["n"].equals(table["n"])
    assert made.schema == table.schema


def test_expression_never_gives_minus_zero() -> None:
    product = Call(DOUBLE, "multiply", (Column(DOUBLE, "x"), Literal(DOUBLE, -1.0)))
    assert signs(evaluate(product, pa.table({"x": [0.0, 2.0]}))) == [1.0, -1.0]
