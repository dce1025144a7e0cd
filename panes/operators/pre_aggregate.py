"""The stateless half of group-by: rows become partial sums of rows that live and die together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.base import Partial
from panes.aggregates.linear import signed
from panes.aggregates.partials import can_round, partial_schema, partials_of, values_of
from panes.aggregates.products import product
from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.delta.evaluate import evaluate
from panes.delta.rows import int64, take, with_column
from panes.operators.base import Operator
from panes.plan import nodes
from panes.plan.types import DOUBLE, MOST_DIGITS


@dataclass
class PreAggregate(Operator):
    """Counts and sums per (lifetime, keys), so that what follows has fewer rows to handle.

    Output: partial rows as `partial_schema` says, with `_ts` and `_exp`; weights are multiplied in, so that a
        retraction is a partial row of negative counts.
    State: none.
    Cost: one grouped pass over the delta; without `combine` (when lifetimes hardly repeat) a map of the rows.

    Rows are combined only where their sum says all that they say: sums of integers that might not fit into 64
    bits, or of DECIMALs into 38 digits, are left to GroupBy, whose accumulators hold any. So are sums of doubles
    of which single rows may be taken back, because a rounded sum less one of its rows is not the rest of them, and
    sums that would be rounded and then subtracted from each other, as variances do.
    """

    node: nodes.GroupBy
    combine: bool

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        if any(partial.function == "sum" for partial in partials_of(self.node)):
            delta = _one_by_one(delta)
        table = delta.table
        columns = {key: table.column(key) for key in self.node.keys}
        columns |= {name: value.column(table) for name, value in values_of(self.node)}
        together = list(columns)
        weight = pa.array(delta.weight)
        for partial in partials_of(self.node):
            columns[partial.name] = _amount(partial, table, weight, delta.is_weighted)
        columns[TS], columns[EXP] = table.column(TS), table.column(EXP)
        schema = (
            partial_schema(self.node).arrow.append(pa.field(TS, pa.int64())).append(pa.field(EXP, pa.int64()))
        )
        rows = pa.table(columns, schema=schema)
        if self.combine and delta.rows > 1 and self._can_combine(rows, delta.is_weighted):
            rows = _combined(rows, [*together, TS, EXP])
        return Delta(rows, clock)

    def _can_combine(self, rows: pa.Table, is_weighted: bool) -> bool:
        partials = partials_of(self.node)
        for partial in partials:
            if partial.type == DOUBLE:
                if is_weighted or not can_round(partials, rows, rows.num_rows):
                    return False
            elif partial.function == "sum":
                ends = pc.min_max(rows.column(partial.name)).as_py()
                largest = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
                most = 10 ** (MOST_DIGITS - partial.type.scale) if partial.type.is_decimal else 2**63
                if largest * rows.num_rows >= most:
                    return False
        return True


def _amount(
    partial: Partial, table: pa.Table, weight: pa.Array, is_weighted: bool
) -> pa.Array | pa.ChunkedArray:
    """What each row adds to a partial column."""
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


def _one_by_one(delta: Delta) -> Delta:
    """Each copy of a row as a row of its own: a multiple of a value may not fit into 64 bits, or be rounded."""
    copies = np.abs(delta.weight)
    if not delta.is_weighted or (copies == 1).all():
        return delta
    table = take(delta.table, np.repeat(np.arange(delta.rows), copies))
    return Delta(with_column(table, WEIGHT, np.sign(int64(table, WEIGHT))), delta.clock)


def _combined(rows: pa.Table, together: list[str]) -> pa.Table:
    """One row per lifetime and group."""
    sums = (
        pl.DataFrame(rows)
        .group_by(together, maintain_order=True)
        .agg(pl.col(name).sum() for name in rows.column_names if name not in together)
    )
    return sums.to_arrow().select(rows.column_names).cast(rows.schema)
