"""Answers of registered queries by name, before their first epoch; with epochs they are in tests/spark."""

from __future__ import annotations

import pytest

import panes
from panes import errors


@pytest.fixture
def db(tmp_path):
    with panes.connect(tmp_path / "db") as database:
        database.sql("CREATE STREAM packets (ts BIGINT, src BIGINT) TIMESTAMP BY ts SECONDS")
        database.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")
        yield database


def test_an_answer_is_computed_once_until_queries_change(db):
    answer = db._answers.invoke("sources")
    assert db._answers.invoke("sources") is answer
    db._answers.forget()
    assert db._answers.invoke("sources") is not answer


def test_a_connection_that_only_reads_keeps_no_answer_by_name(db):
    with panes.connect(db.path, read_only=True) as reader:
        assert reader._answers.invoke("sources") is not reader._answers.invoke("sources")


def test_a_suspended_query_has_neither_an_answer_nor_changes(db):
    db._catalog.suspend(1, "a sum is too large")
    for use in (db._answers.invoke, db._answers.source_of):
        with pytest.raises(errors.QueryFailed, match="'sources' failed and is suspended: a sum is too large"):
            use("sources")


def test_what_ended_the_background_run_is_raised_to_whoever_asks(db, monkeypatch):
    def check() -> None:
        raise errors.PipelineError("the disk is full")

    monkeypatch.setattr(db._answers, "_check_run", check)
    for use in (db._answers.invoke, db._answers.source_of):
        with pytest.raises(errors.PipelineError, match="the disk is full"):
            use("sources")


def test_a_window_that_is_applied_when_it_is_invoked_is_answered_from_the_history(db):
    db.register("SELECT src FROM packets BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)", name="asked")
    assert len(db._answers.invoke("asked")) == 0
    with pytest.raises(errors.CatalogError, match="asked of the history when it is invoked"):
        db._answers.source_of("asked")
