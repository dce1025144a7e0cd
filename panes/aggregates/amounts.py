"""What rows add to the partial columns of a group-by."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.base import Partial
from panes.aggregates.linear import signed
from panes.aggregates.products import product
from panes.delta.evaluate import evaluate


def amounts(
    partial: Partial, table: pa.Table, weight: pa.Array, is_weighted: bool = False
) -> pa.Array | pa.ChunkedArray:
    """What each row of a table adds to a partial column; `weight` has 1 for each row, unless they are weighted."""
    if partial.arg is None:
        return weight
    value = evaluate(partial.arg, table)
    if partial.other is not None:
        return _product(partial, value, evaluate(partial.other, table), weight)
    if partial.function == "count":
        return pc.if_else(pc.is_valid(value), weight, 0) if value.null_count else weight
    value = pc.cast(value, partial.type.arrow)
    return signed(value, weight.to_numpy()) if is_weighted else value


def _product(
    partial: Partial, left: pa.ChunkedArray, right: pa.ChunkedArray, weight: pa.Array
) -> pa.Array | pa.ChunkedArray:
    """The rounded product of two columns, or what rounding took away; NULL counts as 0."""
    high, low = product(*(column.fill_null(0.0).to_numpy() for column in (left, right)))
    return pa.array((high if partial.function == "product" else low) * weight.to_numpy())
