"""Numbers for the groups of rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.rows_by_value import rows_by_value

Ints = npt.NDArray[np.int64]


def group_numbers(keys: pa.Table, rows: int) -> tuple[Ints, Ints]:
    """The number of the group of each row, and a row of each group."""
    if not keys.num_columns:
        return np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64)
    order, starts = rows_by_value(keys)
    group = np.empty(rows, np.int64)
    group[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows)))
    return group, order[starts]
