"""Deleting the rows of a table for which a condition is true."""

from __future__ import annotations

from panes.delta.delta import WEIGHT
from panes.delta.rows import int64, with_column
from panes.language.binder.bind_table_updates import BoundDelete
from panes.tables.row_counts import RowCounts
from panes.tables.rows_where import rows_where
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents


def delete_rows(contents: Contents, delete: BoundDelete) -> TableChange:
    """Deletes the rows; without a condition all."""
    rows = rows_where(contents, delete.condition)
    weights = int64(rows, WEIGHT)
    return TableChange(with_column(rows, WEIGHT, -weights), RowCounts(deleted=int(weights.sum())))
