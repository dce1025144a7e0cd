"""The stateless half of group-by: rows become partial sums of rows that live and die together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.base import Partial
from panes.aggregates.linear import ROWS
from panes.aggregates.partials import partial_schema, partials_of, values_of
from panes.delta.delta import EXP, TS, Delta
from panes.delta.evaluate import evaluate
from panes.operators.base import Operator
from panes.plan import nodes


@dataclass
class PreAggregate(Operator):
    """Counts and sums per (lifetime, keys), so that what follows has fewer rows to handle.

    Output: partial rows as `partial_schema` says, with `_ts` and `_exp`; weights are multiplied in, so that a
        retraction is a partial row of negative counts.
    State: none.
    Cost: one grouped pass over the delta; without `combine` (when lifetimes hardly repeat) a map of the rows.
    """

    node: nodes.GroupBy
    combine: bool

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        self.counters.count(delta)
        table = delta.table
        columns = {key: table.column(key) for key in self.node.keys}
        columns |= {name: evaluate(arg, table) for name, arg in values_of(self.node)}
        together = list(columns)
        weight = pa.array(delta.weight)
        for partial in partials_of(self.node):
            columns[partial.name] = _amount(partial, table, weight, delta.is_weighted)
        columns[TS], columns[EXP] = table.column(TS), table.column(EXP)
        schema = (
            partial_schema(self.node).arrow.append(pa.field(TS, pa.int64())).append(pa.field(EXP, pa.int64()))
        )
        rows = pa.table(columns, schema=schema)
        if self.combine and delta.rows > 1:
            rows = _combined(rows, [*together, TS, EXP])
        return Delta(rows, clock)


def _amount(
    partial: Partial, table: pa.Table, weight: pa.Array, is_weighted: bool
) -> pa.Array | pa.ChunkedArray:
    """What each row adds to a partial column."""
    if partial.arg is None:
        return weight
    value = evaluate(partial.arg, table)
    if partial.function == "count":
        return pc.if_else(pc.is_valid(value), weight, 0) if value.null_count else weight
    value = pc.cast(value, partial.type.arrow)
    return pc.multiply_checked(value, pc.cast(weight, partial.type.arrow)) if is_weighted else value


def _combined(rows: pa.Table, together: list[str]) -> pa.Table:
    """One row per lifetime, group and direction: rows that came and rows that are taken back stay apart,
    because an infinite value cannot be subtracted from a sum."""
    frame = pl.DataFrame(rows)
    sums = frame.group_by(*together, (pl.col(ROWS) < 0).alias("_back"), maintain_order=True).agg(
        pl.col(name).sum() for name in rows.column_names if name not in together
    )
    return sums.to_arrow().select(rows.column_names).cast(rows.schema)
