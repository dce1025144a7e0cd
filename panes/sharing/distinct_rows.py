"""DISTINCT just in time: of rows that are kept with their duplicates, when somebody reads them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import AT
from panes.delta.delta import BEGINNING, WEIGHT
from panes.delta.keys import group_rows
from panes.delta.rows import concat, int64, take, where, with_column


def distinct_rows(table: pa.Table) -> pa.Table:
    """One row of each value."""
    return take(table, np.sort(group_rows(table, table.column_names).first))


def distinct_changes(before: pa.Table, changes: pa.Table) -> pa.Table:
    """What happens to the distinct rows of an answer, given what it held before with its duplicates, and what came
    into it and went from it since (`_at`, `_weight`): in the same form."""
    values = before.column_names
    held = with_column(before, AT, np.full(before.num_rows, BEGINNING))
    rows = concat([with_column(held, WEIGHT, np.ones(before.num_rows, np.int64)), changes])
    if not rows.num_rows:
        return rows
    codes, at = group_rows(rows, values).codes, int64(rows, AT)
    order = np.lexsort((at, codes))
    codes, at = codes[order], at[order]
    is_last = np.append((codes[1:] != codes[:-1]) | (at[1:] != at[:-1]), True)
    # How often a value is there after each instant: all weights up to it, without those of the values before.
    total = np.cumsum(int64(rows, WEIGHT)[order])
    is_first = np.append(True, codes[1:] != codes[:-1])
    base = np.append(0, total[:-1])[is_first]
    after = where(is_last)
    is_there = total[after] - base[codes[after]] > 0
    was_there = np.append(False, is_there[:-1]) & ~np.append(True, codes[after][1:] != codes[after][:-1])
    turned = (is_there != was_there) & (at[after] > BEGINNING)
    found = take(rows, order[after[turned]])
    return with_column(found, WEIGHT, np.where(is_there[turned], 1, -1))
