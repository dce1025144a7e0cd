"""Updating rows: new values from old ones, keys that move, rows that stay as they are."""

from __future__ import annotations

import pytest

from panes.errors import EvaluationError
from panes.tables.constraints import Violation
from tests.tables.memory_tables import MemoryTables


@pytest.fixture
def tables() -> MemoryTables:
    tables = MemoryTables("CREATE TABLE t (k BIGINT PRIMARY KEY, v INT NOT NULL, s STRING)")
    tables.sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL)")
    return tables


def test_all_new_values_are_computed_from_the_old_row(tables: MemoryTables):
    tables.sql("UPDATE t SET v = v + k, k = v WHERE k < 3")
    assert tables.rows("t") == [(10, 11, "a"), (20, 22, "b"), (3, 30, None)]


def test_a_row_that_stays_as_it_is_counts_and_changes_nothing(tables: MemoryTables):
    (counts,) = tables.sql("UPDATE t SET v = 20, s = 'b' WHERE k IN (1, 2)")
    assert counts.updated == 2
    change, _ = tables.accepted[-1]
    assert sorted(row["k"] for row in change["t"].to_pylist()) == [1, 1]


def test_null_equals_null_when_it_is_set_again(tables: MemoryTables):
    (counts,) = tables.sql("UPDATE t SET s = NULL WHERE k = 3")
    assert counts.updated == 1
    assert len(tables.accepted) == 1


def test_keys_may_move_over_each_other(tables: MemoryTables):
    tables.sql("UPDATE t SET k = k + 1")
    assert tables.rows("t") == [(2, 10, "a"), (3, 20, "b"), (4, 30, None)]


def test_rows_that_would_become_equal_share_a_key_as_well(tables: MemoryTables):
    with pytest.raises(Violation, match="two rows would have the primary key k = 7"):
        tables.sql("UPDATE t SET k = 7, v = 0, s = 'x' WHERE k < 3")


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE t SET k = 5", "two rows would have the primary key k = 5"),
        ("UPDATE t SET k = k + 1 WHERE k < 3", "two rows would have the primary key k = 3"),
        ("UPDATE t SET k = nullif(k, 2)", "k is part of the primary key and cannot be NULL"),
        (
            "UPDATE t SET v = nullif(v, 30)",
            "v is NOT NULL: it cannot be NULL, as it would be in k = 3, v = NULL",
        ),
    ],
)
def test_what_the_table_would_not_take_is_refused(tables: MemoryTables, sql: str, problem: str):
    with pytest.raises(Violation, match=problem):
        tables.sql(sql)


def test_a_value_that_does_not_fit_is_an_error(tables: MemoryTables):
    with pytest.raises(EvaluationError):
        tables.sql("UPDATE t SET v = v * 1000000000")
    assert len(tables.accepted) == 1
