"""One zero: -0.0 equals 0.0, and yet functions tell them apart.

Equal rows are counted as one value, and what is taken back is found by being equal. So when a row comes as -0.0
and is taken back as 0.0, all that is computed from the two must be the same as well. Therefore no -0.0 enters a
relation, neither from a stream nor from an expression.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def unsigned_zeros(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The column with 0.0 in place of -0.0."""
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def with_unsigned_zeros(table: pa.Table) -> pa.Table:
    """The table with 0.0 in place of -0.0 in all columns."""
    if not any(map(pa.types.is_floating, table.schema.types)):
        return table
    return pa.table([unsigned_zeros(column) for column in table.columns], schema=table.schema)
