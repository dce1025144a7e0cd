"""In which ways rows can be loaded."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.tables.load_rows import LoadConflict, load_rows, why_not_load
from panes.tables.row_counts import RowCounts
from tests.tables.memory_tables import MemoryTables

TABLES = MemoryTables("CREATE TABLE t (k BIGINT PRIMARY KEY, v DOUBLE); CREATE TABLE bag (k BIGINT)")
TABLES.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
ROWS = pa.table({"k": [2, 3], "v": [-0.0, 3.0]})


@pytest.mark.parametrize(
    ("on_conflict", "replace", "counts"),
    [
        ("update", False, RowCounts(inserted=1, updated=1)),
        ("ignore", False, RowCounts(inserted=1)),
        ("error", True, RowCounts(inserted=1, updated=1, deleted=1)),
    ],
)
def test_rows_are_added_or_take_the_place_of_others(
    on_conflict: LoadConflict, replace: bool, counts: RowCounts
):
    change = load_rows(TABLES.contents("t"), ROWS, on_conflict, replace=replace)
    assert change.counts == counts
    assert "-0.0" not in str(change.rows.to_pylist())


@pytest.mark.parametrize(
    ("table", "on_conflict", "replace", "problem"),
    [
        ("t", "error", False, None),
        ("t", "update", False, None),
        ("t", "ignore", False, None),
        ("t", "error", True, None),
        ("bag", "error", True, None),
        ("t", "ignore", True, "leave on_conflict out"),
        ("bag", "update", False, "it has no primary key"),
        ("t", "UPDATE", False, "on_conflict is 'error', 'update' or 'ignore', not 'UPDATE'"),
        ("t", None, False, "not None"),
    ],
)
def test_what_makes_no_sense_is_said(table: str, on_conflict: object, replace: bool, problem: str | None):
    found = why_not_load(TABLES.definitions[table], on_conflict, replace=replace)
    assert found is None if problem is None else problem in (found or "")
