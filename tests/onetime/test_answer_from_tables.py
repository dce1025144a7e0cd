"""Queries over tables alone, asked of a database without a session of Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import panes
from panes.database import Database
from panes.errors import EpochGone


@pytest.fixture
def db() -> Iterator[Database]:
    with panes.connect(None) as db:
        db.sql(
            "CREATE TABLE hosts (ip STRING PRIMARY KEY, site INT); CREATE TABLE sites (id INT, name STRING)"
        )
        yield db


def rows(db: Database, query: str) -> list[tuple]:
    return sorted(tuple(row.values()) for row in db.sql(query).to_pylist())


def test_rows_are_seen_before_any_stream_has_begun(db):
    db.sql("INSERT INTO hosts VALUES ('a', 1), ('b', 2)")
    assert rows(db, "SELECT * FROM hosts") == [("a", 1), ("b", 2)]
    db.sql("CREATE STREAM s (k INT)")
    assert rows(db, "SELECT count(*) AS n FROM hosts") == [(2,)]


def test_what_was_changed_is_seen_at_once(db):
    db.sql("INSERT INTO hosts VALUES ('a', 1), ('b', 2); INSERT INTO sites VALUES (1, 'Rome')")
    db.sql("UPDATE hosts SET site = 1 WHERE ip = 'b'; DELETE FROM hosts WHERE ip = 'a'")
    joined = "SELECT h.ip, s.name FROM hosts h JOIN sites s ON h.site = s.id"
    assert rows(db, joined) == [("b", "Rome")]
    assert rows(db, "SELECT ip FROM hosts WHERE site NOT IN (SELECT id FROM sites)") == []


def test_an_earlier_instant_is_not_known_without_streams(db):
    db.sql("INSERT INTO hosts VALUES ('a', 1)")
    with pytest.raises(EpochGone, match="no stream has begun; ask without as_of"):
        db.sql("SELECT * FROM hosts", as_of="2026-01-01T00:00:00")
