"""INSERT, UPDATE and DELETE: what they change, and where in the text an error points."""

from __future__ import annotations

from pathlib import Path

import pytest

import panes
from panes.errors import SqlError
from panes.tables.row_counts import RowCounts

HOSTS = "CREATE TABLE hosts (id INT PRIMARY KEY, name STRING NOT NULL, load DOUBLE)"


@pytest.fixture
def hosts():
    with panes.connect() as database:
        database.sql(HOSTS)
        database.sql("INSERT INTO hosts VALUES (1, 'a', 0.5), (2, 'b', NULL)")
        yield database


def rows(db):
    found = db._connection.tables.contents("hosts").rows().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_statements_give_the_numbers_of_rows(hosts):
    assert hosts.sql("INSERT INTO hosts VALUES (3, 'c', 1)") == RowCounts(inserted=1)
    assert hosts.sql("UPDATE hosts SET load = 1 WHERE id < 3") == RowCounts(updated=2)
    assert hosts.sql("DELETE FROM hosts WHERE id = 3") == RowCounts(deleted=1)
    upsert = (
        "INSERT INTO hosts VALUES (2, 'x', 2), (4, 'd', 2) ON CONFLICT DO UPDATE SET name = excluded.name"
    )
    assert hosts.sql(upsert) == RowCounts(inserted=1, updated=1)
    assert hosts.sql("INSERT INTO hosts VALUES (2, 'y', 2) ON CONFLICT (id) DO NOTHING") == RowCounts()
    assert rows(hosts) == [(1, "a", 1.0), (2, "x", 1.0), (4, "d", 2.0)]


def test_rows_are_read_by_the_next_statement_before_the_first_epoch(hosts):
    answer = hosts.sql("DELETE FROM hosts WHERE id = 2; SELECT name, load FROM hosts")
    assert answer.to_pylist() == [{"name": "a", "load": 0.5}]
    assert answer.as_of is None
    assert repr(answer) == "<Answer: 1 rows of name, load>"


def test_rows_are_there_after_the_database_was_closed(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(f"{HOSTS}; INSERT INTO hosts VALUES (1, 'a', NULL); UPDATE hosts SET load = 2")
    with panes.connect(tmp_path / "db") as db:
        assert rows(db) == [(1, "a", 2.0)]


@pytest.mark.parametrize(
    ("sql", "problem", "place"),
    [
        (
            "INSERT INTO hosts VALUES (3, 'c', 1),\n  (2, 'x', 1)",
            "there is already a row with the primary key id = 2",
            (2, 4),
        ),
        (
            "INSERT INTO hosts VALUES (3, 'c', 1), (3, 'd', 1)",
            "the primary key id = 3 is given twice",
            (1, 40),
        ),
        ("INSERT INTO hosts VALUES (3, NULL, 1)", "name is NOT NULL: it cannot be NULL", (1, 27)),
        ("INSERT INTO hosts (id) VALUES (3)", "name is NOT NULL: it cannot be NULL", (1, 20)),
        ("UPDATE hosts SET name = NULL", "name is NOT NULL: it cannot be NULL", (1, 25)),
        (
            "UPDATE hosts SET name = nullif(name, 'b')",
            "name is NOT NULL: it cannot be NULL, as it would be in id = 2, name = NULL, load = NULL",
            (1, 8),
        ),
        ("UPDATE hosts SET id = 7", "two rows would have the primary key id = 7", (1, 8)),
        ("UPDATE hosts SET id = 2 WHERE id = 1", "two rows would have the primary key id = 2", (1, 8)),
        ("UPDATE hosts SET id = id * 3000000000", "Integer value .* not in range", (1, 8)),
    ],
)
def test_what_a_table_does_not_take_is_refused_where_it_stands(hosts, sql, problem, place):
    with pytest.raises(SqlError, match=problem) as caught:
        hosts.sql(sql)
    assert (caught.value.line, caught.value.column) == place
    assert rows(hosts) == [(1, "a", 0.5), (2, "b", None)]


def test_a_conflict_says_what_to_write(hosts):
    with pytest.raises(SqlError, match=r"ON CONFLICT \(id\) DO UPDATE SET … changes the row that is there"):
        hosts.sql("INSERT INTO hosts VALUES (1, 'c', 1)")


def test_the_error_on_the_page_is_the_one_that_is_raised():
    page = (Path(__file__).parent.parent.parent / "docs" / "language.md").read_text()
    with panes.connect() as db:
        db.sql("CREATE TABLE hosts (src BIGINT, owner STRING, PRIMARY KEY (src))")
        db.sql("INSERT INTO hosts VALUES (7, 'lab')")
        with pytest.raises(SqlError) as caught:
            db.sql("INSERT INTO hosts VALUES (7, 'office')")
    assert f"```\n{caught.value}\n```" in page


def test_keys_may_pass_over_each_other_in_one_statement(hosts):
    hosts.sql("UPDATE hosts SET id = 3 - id")
    assert rows(hosts) == [(1, "b", None), (2, "a", 0.5)]
