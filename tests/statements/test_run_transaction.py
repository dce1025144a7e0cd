"""Statements that stand together are one transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import panes
from panes.errors import CatalogError, SqlError
from panes.tables.row_counts import RowCounts


@pytest.fixture
def db():
    with panes.connect() as database:
        database.sql("CREATE TABLE a (k INT PRIMARY KEY, v INT); CREATE TABLE b (k INT, v STRING)")
        yield database


def rows(db, name):
    return sorted(tuple(row.values()) for row in db._connection.tables.contents(name).rows().to_pylist())


def accepted(db):
    return len(db._connection.tables._pending)


def test_statements_that_stand_together_are_accepted_together(db):
    counts = db.sql("INSERT INTO a VALUES (1, 1); INSERT INTO b VALUES (1, 'x'); UPDATE a SET v = v + 1")
    assert counts == RowCounts(updated=1)
    assert (rows(db, "a"), rows(db, "b")) == ([(1, 2)], [(1, "x")])
    assert accepted(db) == 1


def test_another_statement_stands_between_two_transactions(db):
    db.sql("INSERT INTO a VALUES (1, 1); SHOW TABLES; INSERT INTO a VALUES (2, 2)")
    assert accepted(db) == 2


def test_an_error_undoes_the_whole_transaction_and_nothing_before_it(db):
    with pytest.raises(SqlError, match="there is already a row with the primary key k = 1"):
        db.sql(
            "INSERT INTO a VALUES (1, 1); SHOW TABLES; INSERT INTO a VALUES (2, 2);"
            "INSERT INTO b VALUES (2, 'x'); INSERT INTO a VALUES (1, 3)"
        )
    assert (rows(db, "a"), rows(db, "b")) == ([(1, 1)], [])


def test_a_statement_that_is_not_understood_stops_all_before_it(db):
    with pytest.raises(SqlError):
        db.sql("INSERT INTO a VALUES (1, 1); INSERT INTO c VALUES (1)")
    with pytest.raises(SqlError):
        db.sql("INSERT INTO a VALUES (1, 1); SHOW TABLES; INSRT INTO a VALUES (1)")
    assert accepted(db) == 0


def test_statements_that_stand_together_have_one_instant(db):
    with pytest.raises(
        SqlError, match="statements that are run together take effect at one instant"
    ) as caught:
        db.sql(
            "INSERT INTO a VALUES (1, 1) AT TIMESTAMP '2026-01-01';\nDELETE FROM b AT TIMESTAMP '2026-01-02'"
        )
    assert (caught.value.line, caught.value.column) == (2, 15)
    with pytest.raises(SqlError, match="give all of them the same AT TIMESTAMP"):
        db.sql("INSERT INTO a VALUES (1, 1) AT TIMESTAMP '2026-01-01'; DELETE FROM b")
    assert accepted(db) == 0


def test_what_is_scheduled_comes_later(db):
    db.sql("INSERT INTO a VALUES (1, 1), (2, 2)")
    db.sql("UPDATE a SET v = 10 WHERE k = 1 AT TIMESTAMP '2026-01-01'; INSERT INTO b VALUES (1, 'x') "
           "AT TIMESTAMP '2026-01-01'")  # fmt: skip
    assert (rows(db, "a"), rows(db, "b")) == ([(1, 1), (2, 2)], [])
    with pytest.raises(SqlError, match="k = 1 is to change at 2026-01-01 00:00:00, and so cannot") as caught:
        db.sql("DELETE FROM a")
    assert caught.value.hint == "name that instant or a later one: AT TIMESTAMP '2026-01-01 00:00:00'"
    assert db.sql("DELETE FROM a AT TIMESTAMP '2026-01-01 00:00:00'").deleted == 2


def test_transactions_of_several_threads_follow_each_other(db):
    db.sql("INSERT INTO a VALUES (1, 0)")

    def count(thread: int) -> None:
        for step in range(5):
            db.sql(f"UPDATE a SET v = v + 1 WHERE k = 1; INSERT INTO b VALUES ({thread}, '{step}')")

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(count, thread) for thread in range(4)]:
            done.result()
    assert rows(db, "a") == [(1, 20)]
    assert len(rows(db, "b")) == 20


def test_a_table_that_is_not_there_is_named(db):
    with pytest.raises(CatalogError, match="there is no table named 'c'; there are a, b"):
        db.load("c", [])
