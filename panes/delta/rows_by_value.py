"""Rows of equal values brought together, whatever the types of their columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa

from panes.delta.rows import Positions

_ROW = "_row"


def rows_by_value(rows: pa.Table) -> tuple[Positions, Positions]:
    """The order that brings rows together that agree in all columns, the first one of each kind first, and where
    in it each kind begins. NULL agrees with NULL."""
    places = (
        pl.DataFrame(rows)
        .with_row_index(_ROW)
        .group_by(rows.column_names, maintain_order=True)
        .agg(pl.col(_ROW))
        .get_column(_ROW)
    )
    lengths = places.list.len().to_numpy().astype(np.int64)
    order = places.explode().to_numpy().astype(np.int64)
    return order, np.cumsum(lengths) - lengths
