"""Unnest: a row for each item, with the lifetime and the weight of its row."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.operators.unnest import Unnest
from panes.plan.expressions import Column
from panes.plan.types import DOUBLE, list_of

ITEMS = Column(list_of(DOUBLE), "s.x")


def test_each_item_has_the_lifetime_and_the_weight_of_its_row() -> None:
    lists = pa.array([[1.0, None], None, [], [2.0]], pa.list_(pa.float64()))
    rows = pa.table({"s.x": lists, TS: [1, 2, 3, 4], EXP: [5, 6, 7, 8], WEIGHT: [1, 1, 1, -1]})
    table = Unnest(ITEMS, "t.x").process([Delta(rows, 4)], 0, 4).table
    assert table.select(["t.x", TS, EXP, WEIGHT]).to_pylist() == [
        {"t.x": 1.0, TS: 1, EXP: 5, WEIGHT: 1},
        {"t.x": None, TS: 1, EXP: 5, WEIGHT: 1},
        {"t.x": 2.0, TS: 4, EXP: 8, WEIGHT: -1},
    ]


def test_a_delta_without_rows_has_the_column_too() -> None:
    rows = pa.table({"s.x": pa.array([], pa.list_(pa.float64())), TS: pa.array([], pa.int64())})
    table = Unnest(ITEMS, "t.x").process([Delta(rows, 4)], 0, 4).table
    assert table.column_names == ["s.x", "t.x", TS]


def test_a_part_of_a_table_gives_the_items_of_that_part() -> None:
    lists = pa.array([[1.0], [2.0, 3.0], [4.0]], pa.list_(pa.float64()))
    rows = pa.table({"s.x": lists, TS: [1, 2, 3]}).slice(1, 1)
    table = Unnest(ITEMS, "t.x").process([Delta(rows, 4)], 0, 4).table
    assert table.select(["t.x", TS]).to_pylist() == [{"t.x": 2.0, TS: 2}, {"t.x": 3.0, TS: 2}]


def test_no_item_is_a_negative_zero() -> None:
    rows = pa.table({"s.x": pa.array([[-0.0]], pa.list_(pa.float64())), TS: [1]})
    (item,) = Unnest(ITEMS, "t.x").process([Delta(rows, 4)], 0, 4).table.column("t.x").to_pylist()
    assert str(item) == "0.0"
