"""The cells of whole numbers: ranges of one width, by which rows are routed that lie near each other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.moved import moved
from panes.delta.rows import fixed_width


def cells(values: pa.Array, width: int, low: int, high: int) -> pa.Array:
    """For each number the list of the cells that those from `low` to `high` beyond it lie in: of instants and of
    integers, and empty for NULL."""
    numbers = fixed_width(values)
    assert numbers is not None, f"{values.type} has no cells"
    whole = numbers.astype(np.int64)
    first, last = (np.floor_divide(moved(whole, by), width) for by in (low, high))
    known = values.is_valid().to_numpy(zero_copy_only=False)
    counts = np.where(known, last - first + 1, 0)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    items = np.repeat(first, counts) + place
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(items, pa.int64()))
