"""Rows found by their key: state of input whose rows leave at times that nobody can foresee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.rows import int64, with_column
from panes.state.buffers.chunked import ChunkedBuffer, Combine, sum_weights


class Keyed(ChunkedBuffer):
    """State of STRICT input: a log of rows with weights, sorted by key in each chunk.

    Removing a row adds one of the opposite weight; the two cancel out when their chunks are merged, so no
    old chunk is rewritten for it. `probe` may return both, and whoever multiplies by weights gets it right
    without looking; `live` returns what is left of them. `weight` names the column that counts,
    which `combine` sums.
    """

    kind = "keyed"

    def __init__(
        self,
        keys: Sequence[str],
        *,
        reason: str = "retractions find their row",
        nulls_equal: bool = False,
        combine: Combine | None = sum_weights,
        weight: str = WEIGHT,
    ) -> None:
        super().__init__(keys, reason=reason, nulls_equal=nulls_equal, combine=combine)
        self._weight = weight

    def insert(self, rows: pa.Table) -> None:
        super().insert(self._weighted(rows))

    def remove(self, rows: pa.Table) -> pa.Table:
        opposite = self._weighted(rows)
        self.insert(with_column(opposite, self._weight, -int64(opposite, self._weight)))
        return rows

    def _weighted(self, rows: pa.Table) -> pa.Table:
        if self._weight in rows.column_names:
            return rows
        return with_column(rows, self._weight, np.ones(rows.num_rows, dtype=np.int64))
