"""A registered query before its first epoch, and after its end."""

from __future__ import annotations

from datetime import datetime

import pytest

import panes
from panes import errors


@pytest.fixture
def db(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE STREAM packets (ts BIGINT, src BIGINT) TIMESTAMP BY ts SECONDS")
        yield db


@pytest.fixture
def query(db):
    return db.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")


def test_a_query_that_no_epoch_has_seen_has_no_changes_and_no_readers(query):
    assert list(query.changes(reader="phone")) == []
    assert list(query.changes(reader="phone", restart=True)) == []
    assert query.readers() == {}
    query.forget("phone")
    assert query.readers() == {}


@pytest.mark.parametrize("as_of", ["2026-01-05T10:00:00", datetime(2026, 1, 5, 10)])
def test_a_query_that_no_epoch_has_seen_has_no_answer_of_an_instant(query, as_of):
    with pytest.raises(errors.EpochGone, match="'sources' has no answers yet"):
        query.invoke(as_of=as_of)


def test_what_is_no_instant_is_refused(query):
    with pytest.raises(errors.PanesError, match="'yesterday' is no instant"):
        query.invoke(as_of="yesterday")


def test_a_query_that_was_dropped_is_no_longer_there(query):
    query.drop()
    for use in (query.invoke, query.changes, query.readers):
        with pytest.raises(errors.CatalogError, match="there is no query named 'sources'"):
            use()


def test_a_query_of_a_closed_database_says_so(db, query):
    db.close()
    for use in (query.invoke, query.changes, query.readers, query.explain):
        with pytest.raises(errors.DatabaseClosed):
            use()


def test_a_query_whose_window_is_applied_when_it_is_invoked_has_no_changes(db):
    query = db.register("SELECT src FROM packets BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)", name="asked")
    with pytest.raises(errors.CatalogError, match="applied when it is invoked"):
        query.changes()
