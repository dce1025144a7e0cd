"""COPY: the rows of a file in a table, or an error that says which row."""

from __future__ import annotations

from pathlib import Path

import pytest

import panes
from panes.errors import SqlError
from panes.tables.row_counts import RowCounts


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("hosts.csv").write_text("id;name\n1;a\n2;\n")
    with panes.connect() as database:
        database.sql("CREATE TABLE hosts (id INT PRIMARY KEY, name STRING)")
        yield database


def rows(db):
    return sorted(tuple(row.values()) for row in db._connection.tables.contents("hosts").rows().to_pylist())


COPY = "COPY hosts FROM 'hosts.csv' WITH (header = TRUE, delimiter = ';'"


def test_copy_inserts_the_rows_of_a_file(db):
    assert db.sql(f"{COPY})") == RowCounts(inserted=2)
    assert rows(db) == [(1, "a"), (2, None)]


def test_copy_is_part_of_the_transaction_around_it(db):
    db.sql(f"INSERT INTO hosts VALUES (9, 'x'); {COPY}); DELETE FROM hosts WHERE id = 2")
    assert rows(db) == [(1, "a"), (9, "x")]
    assert len(db._connection.tables._pending) == 1


def test_copy_can_update_ignore_or_replace(db):
    db.sql("INSERT INTO hosts VALUES (1, 'old'), (3, 'c')")
    assert db.sql(f"{COPY}, on_conflict = 'ignore')") == RowCounts(inserted=1)
    assert db.sql(f"{COPY}, on_conflict = 'update')") == RowCounts(updated=2)
    assert rows(db) == [(1, "a"), (2, None), (3, "c")]
    assert db.sql(f"{COPY}, replace = TRUE)") == RowCounts(deleted=1)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("COPY hosts FROM 'gone.csv'", r"gone\.csv cannot be read"),
        ("COPY hosts FROM 'hosts.csv'", "its first row has 1 values, and the table 2 columns"),
        (
            "COPY hosts FROM 'hosts.csv' WITH (delimiter = ';')",
            "row 1 of hosts.csv, column 'id': 'id' is not an INT",
        ),
        ("COPY hosts FROM 'hosts.csv' WITH (delimter = ';')", "COPY has no option 'delimter'"),
        ("COPY hosts FROM 'hosts.csv' WITH (delimiter = ';;')", "the delimiter is one character"),
        ("COPY hosts FROM 'hosts.csv' WITH (header = 1)", "header takes TRUE or FALSE, not 1"),
        ("COPY hosts FROM 'hosts.csv' WITH (null_text = TRUE)", "null_text takes a text in quotes, not TRUE"),
        ("COPY hosts FROM 'hosts.csv' WITH (format = 'xml')", "there is no format 'xml'"),
        (
            "COPY hosts FROM 'hosts.csv' WITH (on_conflict = 'skip')",
            "on_conflict is 'error', 'update' or 'ignore'",
        ),
        (
            "COPY hosts FROM 'twice.csv'",
            "row 3 of twice.csv: the primary key id = 5 is given twice, first in row 1",
        ),
        ("COPY hosts FROM 'null.csv'", "row 1 of null.csv: id is part of the primary key and cannot be NULL"),
    ],
)
def test_what_cannot_be_copied_is_refused(db, sql, problem):
    Path("twice.csv").write_text("5,a\n6,a\n5,b\n")
    Path("null.csv").write_text(",a\n")
    with pytest.raises(SqlError, match=problem):
        db.sql(sql)
    assert rows(db) == []
