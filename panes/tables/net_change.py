"""Net changes of a table: rows with weights, in which each row stands once, and none with weight zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.rows import concat
from panes.language.statements import CreateTable
from panes.tables.net_rows import net_rows


def net_change(definition: CreateTable, changes: Sequence[pa.Table]) -> pa.Table:
    """The sum of rows of a table with weights, in any order."""
    names = [*definition.columns.names, WEIGHT]
    changes = [change.select(names) for change in changes if change.num_rows]
    return net_rows(concat(changes)) if changes else no_change(definition)


def no_change(definition: CreateTable) -> pa.Table:
    """A change without rows."""
    return weighted(definition.columns.arrow.empty_table(), 1)


def weighted(rows: pa.Table, weight: int) -> pa.Table:
    """The rows, each with the same weight."""
    return rows.append_column(WEIGHT, pa.array(np.full(rows.num_rows, weight, np.int64)))
