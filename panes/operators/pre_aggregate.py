"""The stateless half of group-by: rows become partial sums of rows that live and die together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from panes.aggregates.amounts import amounts
from panes.aggregates.distinct_sketch import register_of
from panes.aggregates.partials import partial_schema, partials_of, values_of
from panes.delta.delta import EXP, PANE, TS, WEIGHT, Delta
from panes.delta.rows import int64, take, with_column
from panes.operators.base import Operator
from panes.operators.tools.combined_partials import combined_partials
from panes.plan import nodes

_CELL, _REGISTER = "_cell", "_register"


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
        weight = pa.array(delta.weight)
        for partial in partials_of(self.node):
            columns[partial.name] = amounts(partial, table, weight, delta.is_weighted)
        schema = partial_schema(self.node).arrow
        for hidden in (TS, EXP, PANE):
            if hidden in table.column_names:
                columns[hidden] = table.column(hidden)
                schema = schema.append(pa.field(hidden, pa.int64()))
        rows = pa.table(columns, schema=schema)
        if self.combine and not delta.is_weighted:
            rows = self._greatest_cells(rows)
        if self.combine:
            rows = combined_partials(self.node, rows, is_weighted=delta.is_weighted)
        return Delta(rows, clock)

    def _greatest_cells(self, rows: pa.Table) -> pa.Table:
        """The rows with the greatest cell of each register, lifetime and group, and NULL for the others: they say
        nothing as long as that one is there, and leave with it."""
        for name, value in values_of(self.node):
            if value.form == "cell":
                cells = rows.column(name).fill_null(0).to_numpy()
                frame = pl.DataFrame(rows.select([*self.node.keys, TS, EXP])).with_columns(
                    pl.Series(_CELL, cells), pl.Series(_REGISTER, register_of(cells))
                )
                greatest = pl.col(_CELL).max().over([*self.node.keys, TS, EXP, _REGISTER])
                is_less = (
                    frame.select((pl.col(_CELL) < greatest) | (pl.col(_CELL) == 0)).to_series().to_numpy()
                )
                greatest_only = pa.array(cells, pa.int32(), mask=is_less)
                rows = rows.set_column(rows.column_names.index(name), name, greatest_only)
        return rows


def _one_by_one(delta: Delta) -> Delta:
    """Each copy of a row as a row of its own: a multiple of a value may not fit into 64 bits, or be rounded."""
    copies = np.abs(delta.weight)
    if not delta.is_weighted or (copies == 1).all():
        return delta
    table = take(delta.table, np.repeat(np.arange(delta.rows), copies))
    return Delta(with_column(table, WEIGHT, np.sign(int64(table, WEIGHT))), delta.clock)
