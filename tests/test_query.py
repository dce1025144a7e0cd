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
    with pytest.raises(errors.CatalogError, match="asked of the history when it is invoked"):
        query.changes()


class Refusing:
    """A connection to SQLite that answers nothing."""

    def execute(self, sql: str, *_values: object) -> None:
        raise AssertionError(f"the catalog was asked: {sql}")


@pytest.fixture
def run_once(spark, tmp_path):
    """A database after an epoch: a query on its own, two that share a plan, and one that is asked when invoked."""
    with panes.connect(tmp_path / "run", spark=spark) as db:
        db.sql("SET share_from = 2; CREATE STREAM packets (ts BIGINT, src BIGINT) TIMESTAMP BY ts SECONDS")
        db.register("SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY src", name="counts")
        db.register("SELECT ts, src FROM packets [RANGE 1 MINUTE] WHERE src > 1", name="first")
        db.register("SELECT ts, src FROM packets [RANGE 1 MINUTE] WHERE src > 2", name="second")
        db.register("SELECT src FROM packets BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)", name="asked")
        db.push("packets", [{"ts": ts, "src": ts} for ts in range(4)])
        db.run()
        yield db


def test_the_answer_of_an_epoch_is_given_again_without_a_look_at_catalog_or_files(run_once, monkeypatch):
    queries = run_once.queries()
    answers = [query.invoke() for query in queries]
    assert [sorted(row["src"] for row in answer.to_pylist()) for answer in answers] == [
        [0, 1, 2, 3],
        [2, 3],
        [3],
        [0, 1, 2, 3],
    ]
    with monkeypatch.context() as patched:
        patched.setattr(run_once._catalog._file, "_connection", Refusing())
        for folder in ("states", "epochs", "history"):
            (run_once.path / folder).rename(run_once.path / f"{folder}-away")
        assert all(
            query.invoke().table is answer.table for query, answer in zip(queries, answers, strict=True)
        )
        for folder in ("states", "epochs", "history"):
            (run_once.path / f"{folder}-away").rename(run_once.path / folder)


def test_a_query_that_is_dropped_after_it_was_invoked_is_no_longer_answered(run_once):
    query = run_once.query("counts")
    assert len(query.invoke()) == 4
    query.drop()
    with pytest.raises(errors.CatalogError, match="there is no query named 'counts'"):
        query.invoke()
    again = run_once.register("SELECT src FROM packets [RANGE 1 MINUTE] WHERE src = 3", name="counts")
    assert query.invoke().to_pylist() == again.invoke().to_pylist() == [{"src": 3}]


def test_a_query_that_was_invoked_has_a_new_answer_after_the_next_epoch(run_once):
    query = run_once.query("second")
    assert [row["src"] for row in query.invoke().to_pylist()] == [3]
    run_once.push("packets", [{"ts": 4, "src": 9}])
    seen = []
    run_once.run(on_epoch=lambda _: seen.append(sorted(row["src"] for row in query.invoke().to_pylist())))
    assert seen[-1] == sorted(row["src"] for row in query.invoke().to_pylist()) == [3, 9]
