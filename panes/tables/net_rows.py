"""Rows with weights, each different row once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.keys import group_rows
from panes.delta.rows import int64, take, with_column


def net_rows(table: pa.Table) -> pa.Table:
    """The sum of rows that are equal but for their weights; those that cancel out are gone."""
    if not table.num_rows:
        return table
    table = table.combine_chunks()
    groups = group_rows(table, [name for name in table.column_names if name != WEIGHT])
    weights = np.add.reduceat(int64(table, WEIGHT)[groups.order], groups.starts)
    kept = np.flatnonzero(weights)
    return with_column(take(table, groups.first[kept]), WEIGHT, weights[kept])
