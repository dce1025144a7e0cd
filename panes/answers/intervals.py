"""The intervals of an answer whose aggregates are estimates."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from panes.plan.estimated_group_by import ERROR


def intervals(shown: pa.Table, rows: pa.Table) -> pa.Table | None:
    """The columns of an answer, and behind each estimate the ends of its 95 % interval: `<column>_low` and
    `<column>_high`, NULL where the value is exact. None when the answer has no estimates.

    `rows` are the same rows with the half widths.
    """
    columns: dict[str, pa.ChunkedArray] = {}
    for name in shown.column_names:
        columns[name] = shown.column(name)
        if f"{ERROR}{name}" in rows.column_names:
            half = rows.column(f"{ERROR}{name}")
            half = pc.if_else(pc.greater(half, 0.0), half, pa.scalar(None, pa.float64()))
            value = shown.column(name).cast(pa.float64(), safe=False)
            columns[f"{name}_low"] = pc.subtract(value, half)
            columns[f"{name}_high"] = pc.add(value, half)
    return pa.table(columns) if len(columns) > shown.num_columns else None
