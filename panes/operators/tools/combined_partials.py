"""Partial rows that say the same of a group, as one."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.partials import can_round, partials_of, values_of
from panes.delta.delta import EXP, PANE, TS
from panes.plan.nodes import GroupBy
from panes.plan.types import DOUBLE, MOST_DIGITS


def combined_partials(group_by: GroupBy, rows: pa.Table, *, is_weighted: bool) -> pa.Table:
    """One row per lifetime, pane, group and values; the rows as they are where their sums would not say all that
    they say. `is_weighted` says whether single rows may be taken back."""
    if rows.num_rows < 2 or not _can_combine(group_by, rows, is_weighted):
        return rows
    together = [*group_by.keys, *(name for name, _ in values_of(group_by))]
    together += [name for name in (TS, EXP, PANE) if name in rows.column_names]
    sums = (
        pl.DataFrame(rows)
        .group_by(together, maintain_order=True)
        .agg(pl.col(name).sum() for name in rows.column_names if name not in together)
    )
    return sums.to_arrow().select(rows.column_names).cast(rows.schema)


def _can_combine(group_by: GroupBy, rows: pa.Table, is_weighted: bool) -> bool:
    partials = partials_of(group_by)
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
