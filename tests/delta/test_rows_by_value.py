"""Rows of equal values brought together."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.rows_by_value import rows_by_value


def test_rows_that_agree_in_all_columns_come_together():
    rows = pa.table({"k": [5, None, 5, 7, None, 5], "l": ["a", "b", "a", "a", "b", None]})
    order, starts = rows_by_value(rows)
    assert order.tolist() == [0, 2, 1, 4, 3, 5]
    assert starts.tolist() == [0, 2, 4, 5]


def test_no_rows_have_no_kinds():
    order, starts = rows_by_value(pa.table({"k": pa.array([], pa.int64())}))
    assert (len(order), len(starts)) == (0, 0)
