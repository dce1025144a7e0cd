"""Sorting by sort keys: NULLs where they are wanted, NaN the greatest, texts by their bytes."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from panes.delta.orders import in_order, places_in_order
from panes.plan.sort_key import SortKey
from panes.plan.to_sql import order_sql

NAN = float("nan")
COLUMNS: dict[str, list[Any]] = {
    "a": [2, None, 1, 2, None, 1, 3, -5],
    "x": [NAN, 1.0, None, float("inf"), -0.0, NAN, float("-inf"), 0.5],
    "t": ["b", "", None, "a", "B", "ä", "a", "ab"],
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_the_order_is_that_of_duckdb(column: str, descending: bool, nulls_first: bool) -> None:
    rows = pa.table({column: COLUMNS[column], "place": list(range(8))})
    keys = [SortKey(column, descending, nulls_first), SortKey("place")]
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        sql = f"SELECT place FROM rows ORDER BY {order_sql(keys)}"
        expected = [place for (place,) in connection.execute(sql).fetchall()]
    assert places_in_order(rows, keys).to_pylist() == expected
    assert in_order(pl.DataFrame(rows), keys)["place"].to_list() == expected
