from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa

from panes.delta.rows import concat, fixed_width, int64, take, with_column, without

TABLE = pa.table(
    {
        "n": pa.array([1, 2, 3, 4], pa.int32()),
        "maybe": pa.array([1, None, 3, 4], pa.int64()),
        "text": ["a", None, "c", "d"],
        "when": pa.array([dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3, 4)]),
        "flag": [True, False, None, True],
    }
)


def test_rows_are_taken_in_the_order_of_the_positions():
    positions = np.array([3, 0, 0])
    assert take(TABLE, positions).equals(TABLE.take(pa.array(positions)))
    assert take(TABLE, positions, ["text"]).column_names == ["text"]


def test_rows_of_a_slice_are_those_of_the_slice():
    part = pa.concat_tables([TABLE, TABLE]).slice(2, 4)
    positions = np.array([0, 3])
    assert take(part, positions).equals(part.take(pa.array(positions)).combine_chunks())
    assert fixed_width(TABLE.slice(1)["n"].chunk(0)).tolist() == [2, 3, 4]


def test_tables_become_one_whether_or_not_their_columns_may_be_null():
    strict = pa.table({"n": [1]}, schema=pa.schema([pa.field("n", pa.int64(), nullable=False)]))
    assert concat([strict, pa.table({"n": [None, 2]})]).to_pydict() == {"n": [1, None, 2]}


def test_columns_are_set_in_place_or_appended():
    table = pa.table({"a": [1, 2], "b": [3, 4]})
    assert with_column(table, "a", np.array([5, 6])).to_pydict() == {"a": [5, 6], "b": [3, 4]}
    assert with_column(table, "c", np.array([5, 6])).column_names == ["a", "b", "c"]
    assert without(table, "b", "missing").column_names == ["a"]
    assert int64(table, "b").tolist() == [3, 4]
