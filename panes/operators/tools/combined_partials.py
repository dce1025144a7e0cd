"""Partial rows that say the same of a group, as one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.base import Partial
from panes.aggregates.partials import can_round, partials_of, values_of
from panes.delta.delta import EXP, PANE, TS
from panes.plan.nodes import GroupBy
from panes.plan.types import DOUBLE, MOST_DIGITS


def combined_partials(group_by: GroupBy, rows: pa.Table, *, is_weighted: bool) -> pa.Table:
    """One row per lifetime, pane, group and values; the rows as they are where their sums would not say all that
    they say. `is_weighted` says whether single rows may be taken back."""
    together = [*group_by.keys, *(name for name, _ in values_of(group_by))]
    together += [name for name in (TS, EXP, PANE) if name in rows.column_names]
    return summed_partials(rows, together, partials_of(group_by), is_weighted=is_weighted)


def summed_partials(
    rows: pa.Table, together: Sequence[str], partials: Sequence[Partial], *, is_weighted: bool
) -> pa.Table:
    """One row for all that agree in the columns `together`, with the sums of the others; the rows as they are
    where these would not say all that they say."""
    if rows.num_rows < 2 or not can_combine(partials, rows, is_weighted=is_weighted):
        return rows
    others = [name for name in rows.column_names if name not in together]
    frame = pl.DataFrame(rows)
    if together:
        sums = frame.group_by(list(together), maintain_order=True).agg(pl.col(name).sum() for name in others)
    else:
        sums = frame.select(pl.col(name).sum() for name in others)
    return sums.to_arrow().select(rows.column_names).cast(rows.schema)


def can_combine(partials: Sequence[Partial], rows: pa.Table, *, is_weighted: bool) -> bool:
    """Whether sums of any of these rows say all that the rows say."""
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
