"""Deleting rows."""

from __future__ import annotations

from panes.tables.row_counts import RowCounts
from tests.tables.memory_tables import MemoryTables


def test_rows_are_deleted_each_as_often_as_it_is_there():
    tables = MemoryTables("CREATE TABLE t (a INT)")
    tables.sql("INSERT INTO t VALUES (1), (1), (2), (NULL)")
    assert tables.sql("DELETE FROM t WHERE a = 1") == [RowCounts(deleted=2)]
    assert tables.rows("t") == [(2,), (None,)]
    assert tables.sql("DELETE FROM t WHERE a > 5") == [RowCounts()]
    assert tables.sql("DELETE FROM t") == [RowCounts(deleted=2)]
    assert tables.contents("t").row_count == 0
