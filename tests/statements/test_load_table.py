"""`db.load`: rows of any form, what differs, and errors with the row."""

from __future__ import annotations

import io

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rich.console import Console

import panes
from panes.errors import CatalogError, ConstraintError, ReadOnly
from panes.tables.row_counts import RowCounts


@pytest.fixture
def db():
    with panes.connect() as database:
        database.sql(
            "CREATE TABLE hosts (id INT PRIMARY KEY, name STRING NOT NULL); CREATE TABLE log (a DOUBLE)"
        )
        yield database


def rows(db, name="hosts"):
    return sorted(tuple(row.values()) for row in db._connection.tables.contents(name).rows().to_pylist())


TWO = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


@pytest.mark.parametrize(
    "given",
    [
        TWO,
        [(1, "a"), (2, "b")],
        {"name": ["a", "b"], "id": [1, 2]},
        pa.table({"id": [1, 2], "name": ["a", "b"]}),
        pa.record_batch({"id": [1, 2], "name": ["a", "b"]}),
        pd.DataFrame(TWO),
        pl.DataFrame(TWO),
    ],
    ids=lambda given: type(given).__name__,
)
def test_rows_are_loaded_in_any_form(db, given):
    assert db.load("hosts", given) == RowCounts(inserted=2)
    assert rows(db) == [(1, "a"), (2, "b")]


def test_nothing_to_load_changes_nothing(db):
    assert db.load("hosts", []) == RowCounts()
    assert len(db._connection.tables._pending) == 0


def test_rows_that_are_there_are_an_error_or_updated_or_ignored(db):
    db.load("hosts", TWO)
    more = [(2, "B"), (3, "c")]
    with pytest.raises(
        ConstraintError, match="table 'hosts': row 0: there is already a row with the primary key id = 2"
    ):
        db.load("hosts", more)
    assert db.load("hosts", more, on_conflict="ignore") == RowCounts(inserted=1)
    assert rows(db) == [(1, "a"), (2, "b"), (3, "c")]
    assert db.load("hosts", more, on_conflict="update") == RowCounts(updated=2)
    assert rows(db) == [(1, "a"), (2, "B"), (3, "c")]


def test_replace_changes_only_what_differs(db):
    db.load("hosts", [(1, "a"), (2, "b"), (3, "c")])
    assert db.load("hosts", [(4, "d"), (2, "B"), (1, "a")], replace=True) == RowCounts(1, 1, 1)
    (_, transaction) = db._connection.tables._pending
    (change,) = transaction.changes.values()
    assert sorted(tuple(row.values()) for row in change.to_pylist()) == [
        (2, "B", 1),
        (2, "b", -1),
        (3, "c", -1),
        (4, "d", 1),
    ]
    assert db.load("hosts", [(1, "a"), (2, "B"), (4, "d")], replace=True) == RowCounts()
    assert len(db._connection.tables._pending) == 2


def test_replace_counts_equal_rows_each(db):
    db.load("log", [(1.0,), (1.0,), (2.0,)])
    assert db.load("log", [(1.0,), (3.0,), (-0.0,)], replace=True) == RowCounts(inserted=2, deleted=2)
    assert str(rows(db, "log")) == "[(0.0,), (1.0,), (3.0,)]"


@pytest.mark.parametrize(
    ("given", "options", "problem"),
    [
        ([(1, "a"), ("x", "b")], {}, "row 1, column 'id': 'x' is of type str, and the column is INT"),
        ([(1, "a"), (2, None)], {}, "row 1: name is NOT NULL: it cannot be NULL"),
        ([(None, "a")], {}, "row 0: id is part of the primary key and cannot be NULL"),
        ([(1, "a"), (2, "b"), (1, "c")], {}, "row 2: the primary key id = 1 is given twice, first in row 0"),
        (
            [(1, "a"), (1, "c")],
            {"replace": True},
            "row 1: the primary key id = 1 is given twice, first in row 0",
        ),
        ([{"id": 1}], {}, "the columns are id, name; in row 0: name missing"),
        (pa.table({"id": [1]}), {}, "the columns are id, name; in what was loaded: name missing"),
        ("hosts.csv", {}, "what was loaded is of type str, and not rows"),
        (TWO, {"on_conflict": "skip"}, "on_conflict is 'error', 'update' or 'ignore', not 'skip'"),
        (TWO, {"on_conflict": "update", "replace": True}, "no row is in conflict: leave on_conflict out"),
    ],
)
def test_what_a_table_does_not_take_is_refused_with_its_row(db, given, options, problem):
    with pytest.raises(ConstraintError, match=f"^table 'hosts': .*{problem}.*; nothing was changed$"):
        db.load("hosts", given, **options)
    assert rows(db) == []


def test_a_table_without_a_key_has_no_conflicts(db):
    with pytest.raises(ConstraintError, match="it has no primary key"):
        db.load("log", [(1.0,)], on_conflict="update")


def test_only_tables_are_loaded(db):
    db.sql("CREATE STREAM s (a INT)")
    with pytest.raises(CatalogError, match=r"'s' is a stream: give it rows with db.push"):
        db.load("s", [(1,)])
    with pytest.raises(CatalogError, match="there is no table named 'gone'; there are hosts, log"):
        db.load("gone", [(1,)])


def test_rows_are_pushed_to_streams_that_have_rows_of_their_own(db):
    db.sql("CREATE STREAM s (a INT); CREATE STREAM d AS SELECT a FROM s")
    with pytest.raises(CatalogError, match=r"'hosts' is a table: give it rows with db.load\('hosts', rows\)"):
        db.push("hosts", [{"id": 1, "name": "a"}])
    with pytest.raises(
        CatalogError, match="'d' is a derived stream: its rows are those of what it reads, of s"
    ):
        db.push("d", [(1,)])


def test_one_who_only_reads_cannot_load(db):
    with panes.connect(db.path, read_only=True) as reader, pytest.raises(ReadOnly):
        reader.load("hosts", TWO)


def test_many_rows_show_progress_on_a_terminal(db, monkeypatch):
    monkeypatch.setattr("panes.statements.load_table._MANY", 2)
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    db.load("hosts", TWO[:1], progress=console)
    assert console.file.getvalue() == ""
    db.load("hosts", TWO, replace=True, progress=console)
    assert "loading 2 rows into hosts" in console.file.getvalue()
