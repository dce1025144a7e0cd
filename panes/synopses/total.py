"""The rows of all signatures of a synopsis together."""

from __future__ import annotations

import pyarrow as pa

from panes.plan.nodes import SIGNATURE

TOTAL = b""
"""What stands in the place of a signature."""


def with_total(rows: pa.Table) -> pa.Table:
    """Partial rows, and the same ones again as rows of the total."""
    totals = pa.array([TOTAL] * rows.num_rows, pa.binary())
    place = rows.column_names.index(SIGNATURE)
    return pa.concat_tables([rows, rows.set_column(place, rows.field(place), totals)])
