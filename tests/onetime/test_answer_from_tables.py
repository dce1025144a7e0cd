"""Queries that read tables alone, on a database without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import panes
from panes.database import Database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE TABLE hosts (src BIGINT PRIMARY KEY, owner STRING, since TIMESTAMP)")
        db.sql("CREATE TABLE owners (owner STRING PRIMARY KEY, floor INT)")
        yield db


def rows(answer: object) -> list[tuple[object, ...]]:
    assert isinstance(answer, panes.Answer)
    return sorted((tuple(row.values()) for row in answer.to_pylist()), key=str)


def test_one_reads_what_one_has_written_though_no_stream_has_begun(db: Database) -> None:
    db.sql("INSERT INTO hosts VALUES (1, 'a', NULL), (2, 'b', NULL); INSERT INTO owners VALUES ('a', 3)")
    assert rows(db.sql("SELECT count(*) AS n FROM hosts")) == [(2,)]
    joined = "SELECT h.src, o.floor FROM hosts h, owners o WHERE h.owner = o.owner"
    assert rows(db.sql(joined)) == [(1, 3)]
    db.sql("UPDATE owners SET floor = floor + 1")
    assert rows(db.sql(joined)) == [(1, 4)]
    assert rows(db.sql("SELECT src FROM hosts WHERE owner NOT IN (SELECT owner FROM owners)")) == [(2,)]
    assert rows(db.sql("SELECT owner, count(*) AS n FROM hosts GROUP BY owner")) == [("a", 1), ("b", 1)]


def test_the_answer_has_no_instant_before_a_stream_has_begun(db: Database) -> None:
    answer = db.sql("SELECT src FROM hosts")
    assert isinstance(answer, panes.Answer)
    assert answer.as_of is None


def test_instants_are_given_with_their_zone(db: Database) -> None:
    db.sql("INSERT INTO hosts VALUES (1, 'a', TIMESTAMP '2026-01-02 03:04:05')")
    ((since,),) = rows(db.sql("SELECT since FROM hosts WHERE since > TIMESTAMP '2026-01-01'"))
    assert str(since) == "2026-01-02 03:04:05+00:00"


def test_equal_rows_of_a_table_without_a_key_are_given_each(db: Database) -> None:
    db.sql("CREATE TABLE log (line STRING)")
    db.sql("INSERT INTO log VALUES ('x'), ('x'), ('y')")
    assert rows(db.sql("SELECT * FROM log")) == [("x",), ("x",), ("y",)]
    assert rows(db.sql("SELECT DISTINCT line FROM log")) == [("x",), ("y",)]
