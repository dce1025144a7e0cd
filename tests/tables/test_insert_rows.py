"""Inserting rows: keys that are there, keys that are given twice, and what ON CONFLICT makes of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panes.language.binder.bind_table_updates import OnConflict
from panes.tables.constraints import Conflict, Violation
from panes.tables.insert_rows import insert_rows, overwrite
from panes.tables.row_counts import RowCounts
from tests.tables.memory_tables import MemoryTables

TABLES = MemoryTables(
    "CREATE TABLE t (k BIGINT PRIMARY KEY, v DOUBLE NOT NULL); CREATE TABLE bag (a BIGINT);"
    "CREATE TABLE keys (a STRING, b BIGINT, PRIMARY KEY (b, a))"
)
TABLES.sql("INSERT INTO t VALUES (1, 1), (2, 2); INSERT INTO keys VALUES ('x', 1)")


def rows(*pairs: tuple[int | None, float | None]) -> pa.Table:
    keys, values = zip(*pairs, strict=True)
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(values, pa.float64())})


def change_of(
    given: pa.Table, conflict: OnConflict | None = None
) -> tuple[list[tuple[object, ...]], RowCounts]:
    change = insert_rows(TABLES.contents("t"), given, conflict)
    return sorted(tuple(row.values()) for row in change.rows.to_pylist()), change.counts


OVERWRITE = overwrite(TABLES.definitions["t"])


def test_new_rows_enter_once():
    assert change_of(rows((3, 3.0), (4, 4.0))) == ([(3, 3.0, 1), (4, 4.0, 1)], RowCounts(inserted=2))


def test_the_first_conflict_is_reported_with_its_row():
    with pytest.raises(Conflict, match="there is already a row with the primary key k = 2") as caught:
        change_of(rows((3, 3.0), (2, 0.0), (1, 0.0)))
    assert caught.value.row == 1


def test_a_row_takes_the_place_of_the_one_that_is_there():
    assert change_of(rows((2, 9.0), (3, 3.0)), OVERWRITE) == (
        [(2, 2.0, -1), (2, 9.0, 1), (3, 3.0, 1)],
        RowCounts(inserted=1, updated=1),
    )


def test_a_row_that_is_there_already_is_no_change():
    assert change_of(rows((2, 2.0), (1, 1.0)), OVERWRITE) == ([], RowCounts(updated=2))


def test_rows_that_are_there_are_left_alone():
    assert change_of(rows((2, 9.0), (3, 3.0), (3, 4.0)), OnConflict()) == (
        [(3, 3.0, 1)],
        RowCounts(inserted=1),
    )


@pytest.mark.parametrize("conflict", [None, OVERWRITE])
def test_a_key_is_given_once(conflict: OnConflict | None):
    with pytest.raises(Violation, match="the primary key k = 5 is given twice") as caught:
        change_of(rows((5, 1.0), (6, 1.0), (5, 2.0), (6, 2.0)), conflict)
    assert (caught.value.row, caught.value.first) == (2, 0)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (rows((3, 1.0), (4, None)), "v is NOT NULL: it cannot be NULL"),
        (rows((3, 1.0), (None, 1.0)), "k is part of the primary key and cannot be NULL"),
    ],
)
def test_null_is_refused_with_its_row(given: pa.Table, problem: str):
    with pytest.raises(Violation, match=problem) as caught:
        change_of(given)
    assert caught.value.row == 1


def test_a_row_that_is_all_key_is_there_or_not():
    given = pa.table({"a": ["x", "y"], "b": [1, 1]})
    change = insert_rows(TABLES.contents("keys"), given, overwrite(TABLES.definitions["keys"]))
    assert change.rows.to_pylist() == [{"a": "y", "b": 1, "_weight": 1}]


def test_equal_rows_of_a_table_without_a_key_are_one_row_of_their_number():
    change = insert_rows(TABLES.contents("bag"), pa.table({"a": pa.array([7, None, 7], pa.int64())}))
    assert sorted(change.rows.to_pylist(), key=str) == [{"a": 7, "_weight": 2}, {"a": None, "_weight": 1}]
    assert change.counts == RowCounts(inserted=3)


def test_no_rows_are_no_change():
    assert change_of(rows((1, 1.0)).slice(1), OnConflict()) == ([], RowCounts())
    assert change_of(rows((1, 1.0)).slice(1)) == ([], RowCounts())


def test_many_rows_meet_many_that_are_there():
    tables = MemoryTables("CREATE TABLE t (k BIGINT PRIMARY KEY, v DOUBLE NOT NULL)")
    count = 20_000
    first = pa.table({"k": np.arange(count), "v": np.zeros(count)})
    contents = tables.contents("t").applied(insert_rows(tables.contents("t"), first).rows)
    second = pa.table({"k": np.arange(count // 2, 2 * count), "v": np.ones(2 * count - count // 2)})
    change = insert_rows(contents, second, OVERWRITE)
    assert change.counts == RowCounts(inserted=count, updated=count // 2)
    after = contents.applied(change.rows).rows()
    assert after.num_rows == 2 * count
    assert int(after.column("v").to_numpy().sum()) == 2 * count - count // 2
