"""Transactions: statements that see each other, constraints at their end, changes that wait for an instant."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as hst

from panes.tables.constraints import Violation
from panes.tables.table_contents import Contents
from tests.tables.memory_tables import MemoryTables

HOSTS = "CREATE TABLE hosts (id INT PRIMARY KEY, name STRING, load DOUBLE NOT NULL)"
LOG = "CREATE TABLE log (a INT, b STRING)"


def test_a_statement_sees_those_before_it():
    tables = MemoryTables(HOSTS)
    counts = tables.sql(
        "INSERT INTO hosts VALUES (1, 'a', 1), (2, 'b', 2); UPDATE hosts SET load = load * 10 WHERE id = 2;"
        "DELETE FROM hosts WHERE id = 1; INSERT INTO hosts VALUES (1, 'again', 3)"
    )
    assert [str(count) for count in counts] == [
        "2 rows inserted",
        "1 row updated",
        "1 row deleted",
        "1 row inserted",
    ]
    assert tables.rows("hosts") == [(1, "again", 3.0), (2, "b", 20.0)]


def test_a_transaction_is_one_net_change_of_each_table():
    tables = MemoryTables(HOSTS, LOG)
    tables.sql(
        "INSERT INTO hosts VALUES (1, 'a', 1); INSERT INTO log VALUES (7, 'x'); UPDATE hosts SET load = 5;"
        "DELETE FROM log"
    )
    ((changes, at),) = tables.accepted
    assert at is None
    assert changes["hosts"].to_pylist() == [{"id": 1, "name": "a", "load": 5.0, "_weight": 1}]
    assert "log" not in changes


def test_a_transaction_that_changes_nothing_is_not_accepted():
    tables = MemoryTables(HOSTS)
    tables.sql("DELETE FROM hosts; UPDATE hosts SET load = 1 WHERE id = 9")
    assert tables.accepted == []


def test_when_one_statement_fails_none_has_happened():
    tables = MemoryTables(HOSTS)
    tables.sql("INSERT INTO hosts VALUES (1, 'a', 1)")
    with pytest.raises(Violation, match="there is already a row with the primary key id = 1"):
        tables.sql(
            "INSERT INTO hosts VALUES (2, 'b', 2); DELETE FROM hosts WHERE id = 2;"
            "INSERT INTO hosts VALUES (1, 'a', 1)"
        )
    assert tables.rows("hosts") == [(1, "a", 1.0)]


def test_equal_rows_of_a_table_without_a_key_are_changed_each():
    tables = MemoryTables(LOG)
    (inserted,) = tables.sql("INSERT INTO log VALUES (1, 'x'), (1, 'x'), (2, NULL)")
    (updated,) = tables.sql("UPDATE log SET b = 'y' WHERE a = 1")
    assert (inserted.inserted, updated.updated) == (3, 2)
    assert tables.rows("log") == [(1, "y"), (1, "y"), (2, None)]
    (deleted,) = tables.sql("DELETE FROM log WHERE b = 'y'")
    assert deleted.deleted == 2
    assert tables.rows("log") == [(2, None)]


# Changes that are scheduled.

EARLY, LATE = "AT TIMESTAMP '2026-02-01'", "AT TIMESTAMP '2026-03-01'"


def scheduled() -> MemoryTables:
    tables = MemoryTables(HOSTS)
    tables.sql("INSERT INTO hosts VALUES (1, 'a', 1), (2, 'b', 2)")
    tables.sql(f"UPDATE hosts SET load = 10 WHERE id = 1 {LATE}")
    return tables


def test_a_scheduled_change_is_not_seen_before_its_instant():
    assert scheduled().rows("hosts") == [(1, "a", 1.0), (2, "b", 2.0)]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE hosts SET name = 'x' WHERE id = 1",
        "DELETE FROM hosts",
        "INSERT INTO hosts VALUES (1, 'x', 0) ON CONFLICT DO UPDATE SET load = 0",
        f"DELETE FROM hosts WHERE id = 1 {EARLY}",
    ],
)
def test_a_key_that_is_to_change_later_cannot_change_before(sql: str):
    tables = scheduled()
    with pytest.raises(
        Violation, match="id = 1 is to change at 2026-03-01 00:00:00, and so cannot change before"
    ):
        tables.sql(sql)
    assert len(tables.accepted) == 2


def test_other_keys_change_meanwhile():
    tables = scheduled()
    tables.sql("UPDATE hosts SET load = 20 WHERE id = 2")
    assert tables.rows("hosts") == [(1, "a", 1.0), (2, "b", 20.0)]


def test_a_statement_at_an_instant_sees_what_is_scheduled_up_to_it_and_nothing_later():
    tables = scheduled()
    tables.sql(f"UPDATE hosts SET load = load + 1 WHERE id = 1 {LATE}")  # the same instant: after the first
    (later,) = tables.sql("DELETE FROM hosts WHERE load = 11 AT TIMESTAMP '2026-04-01'")
    (earlier,) = tables.sql(f"DELETE FROM hosts WHERE load >= 10 {EARLY}")
    assert (later.deleted, earlier.deleted) == (1, 0)


def test_a_row_that_is_to_be_deleted_later_is_there_before():
    tables = MemoryTables(HOSTS)
    tables.sql("INSERT INTO hosts VALUES (1, 'a', 1)")
    tables.sql(f"DELETE FROM hosts {LATE}")
    with pytest.raises(Violation, match="id = 1 is to change at"):
        tables.sql(f"UPDATE hosts SET load = 2 {EARLY}")
    (inserted,) = tables.sql("INSERT INTO hosts VALUES (1, 'b', 2) AT TIMESTAMP '2026-03-02'")
    assert inserted.inserted == 1


def test_rows_of_a_table_without_a_key_wait_as_whole_rows():
    tables = MemoryTables(LOG)
    tables.sql("INSERT INTO log VALUES (1, 'x'), (1, 'y')")
    tables.sql(f"DELETE FROM log WHERE b = 'x' {LATE}")
    with pytest.raises(Violation, match="a = 1, b = 'x' is to change at"):
        tables.sql("DELETE FROM log WHERE a = 1")
    tables.sql("DELETE FROM log WHERE b = 'y'")
    assert tables.rows("log") == [(1, "x")]


# SQLite is the oracle of statements.

VALUES = hst.tuples(hst.integers(0, 4), hst.sampled_from(["'a'", "'b'", "NULL"]), hst.integers(-2, 2))
CONDITIONS = hst.sampled_from(
    ["", " WHERE k = 2", " WHERE k IN (1, 3)", " WHERE v > 0", " WHERE s IS NULL", " WHERE k = 1 AND s = 'a'",
     " WHERE 3 = k OR v < 0"]
)  # fmt: skip
SETS = hst.sampled_from(
    ["v = v + 1", "s = 'c'", "k = k + 1", "k = 4 - k, v = k", "v = NULL, s = s || 'x'", "k = 7", "v = k"]
)
CONFLICTS = hst.sampled_from(
    ["", " ON CONFLICT (k) DO NOTHING", " ON CONFLICT (k) DO UPDATE SET v = excluded.v + t.v",
     " ON CONFLICT (k) DO UPDATE SET s = excluded.s WHERE t.v < excluded.v",
     " ON CONFLICT (k) DO UPDATE SET v = v + 1"]
)  # fmt: skip
STATEMENTS = hst.one_of(
    hst.tuples(hst.lists(VALUES, min_size=1, max_size=4, unique_by=lambda row: row[0]), CONFLICTS).map(
        lambda drawn: (
            "INSERT INTO t VALUES " + ", ".join(f"({k}, {s}, {v})" for k, s, v in drawn[0]) + drawn[1]
        )
    ),
    hst.tuples(SETS, CONDITIONS).map(lambda drawn: f"UPDATE t SET {drawn[0]}{drawn[1]}"),
    CONDITIONS.map(lambda condition: f"DELETE FROM t{condition}"),
)


@given(hst.lists(hst.lists(STATEMENTS, min_size=1, max_size=3), max_size=8))
def test_statements_do_what_they_do_in_sqlite(transactions: list[list[str]]):
    tables = MemoryTables("CREATE TABLE t (k BIGINT PRIMARY KEY, s STRING, v BIGINT)")
    other = sqlite3.connect(":memory:", isolation_level=None)
    other.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, s TEXT, v INTEGER)")
    for statements in transactions:
        other.execute("BEGIN")
        try:
            expected = [_changed(other, sql) for sql in statements]
        except sqlite3.IntegrityError:
            other.execute("ROLLBACK")
            # SQLite checks keys row by row: what it refuses may be right after the whole statement.
            if not any("SET k" in sql for sql in statements):
                with pytest.raises(Violation):
                    tables.sql("; ".join(statements))
        else:
            other.execute("COMMIT")
            counts = tables.sql("; ".join(statements))
            assert [count.total for count in counts] == expected
        assert Counter(tables.rows("t")) == Counter(other.execute("SELECT * FROM t").fetchall())
    other.close()


INSTANTS = hst.sampled_from(
    ["", " AT TIMESTAMP '2026-02-01'", " AT TIMESTAMP '2026-03-01'", " AT TIMESTAMP '2026-04-01'"]
)


@given(hst.lists(hst.tuples(STATEMENTS, INSTANTS), max_size=12))
def test_the_constraints_hold_at_every_instant(drawn: list[tuple[str, str]]):
    tables = MemoryTables("CREATE TABLE t (k BIGINT PRIMARY KEY, s STRING, v BIGINT)")
    for sql, instant in drawn:
        with suppress(Violation):
            tables.sql(sql + instant)
    instants = sorted({at for _, at in tables.accepted if at is not None})
    for now in [0, *instants]:
        contents = Contents(tables.definitions["t"])
        for changes, at in sorted(tables.accepted, key=lambda accepted: accepted[1] or 0):
            if (at or 0) <= now:
                contents = contents.applied(changes["t"])
        keys = contents.rows().column("k").to_pylist()
        assert len(keys) == len(set(keys)) == contents.row_count
        assert None not in keys


def _changed(connection: sqlite3.Connection, sql: str) -> int:
    return connection.execute(sql).rowcount
