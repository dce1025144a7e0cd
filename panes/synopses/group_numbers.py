"""Numbers for the groups of rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Ints = npt.NDArray[np.int64]

_GROUP = "_group"


def group_numbers(keys: pa.Table, rows: int) -> tuple[Ints, Ints]:
    """The number of the group of each row, and a row of each group."""
    if not keys.num_columns:
        return np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64)
    places = (
        pl.DataFrame(keys)
        .with_row_index(_GROUP)
        .group_by(keys.column_names, maintain_order=True)
        .agg(pl.col(_GROUP))
        .get_column(_GROUP)
    )
    lengths = places.list.len().to_numpy().astype(np.int64)
    order = places.explode().to_numpy().astype(np.int64)
    group = np.empty(rows, np.int64)
    group[order] = np.repeat(np.arange(len(lengths)), lengths)
    return group, order[np.cumsum(lengths) - lengths]
