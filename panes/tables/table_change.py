"""What a statement does to a table."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from panes.tables.row_counts import RowCounts


@dataclass(frozen=True)
class TableChange:
    """The rows that are inserted and deleted; an update is both."""

    rows: pa.Table
    """Net, with `_weight`: positive for what is inserted."""
    counts: RowCounts
