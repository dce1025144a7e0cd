"""Answers of registered queries by name, before their first epoch; with epochs they are in tests/spark."""

from __future__ import annotations

import pytest

import panes
from panes import errors
from panes.answers.answer import Answer


@pytest.fixture
def db(tmp_path):
    with panes.connect(tmp_path / "db") as database:
        database.sql("CREATE STREAM packets (ts BIGINT, src BIGINT) TIMESTAMP BY ts SECONDS")
        database.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")
        yield database


def test_an_answer_is_computed_once_until_queries_change(db):
    answer = db._answers.invoke("sources")
    assert db._answers.invoke("sources") is answer
    db._answers.forget_all()
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


@pytest.mark.parametrize("isolation", ["window", "snapshot", "latest"])
def test_a_block_of_reads_before_the_first_epoch_has_no_rows(db, isolation):
    db.sql("CREATE QUERY asked WITH (answers = 'none') AS SELECT src FROM packets [RANGE 1 HOUR]")
    with panes.connect(db.path, read_only=True) as beside:
        for database in (db, beside):
            with database.read(isolation) as block:
                assert block.epoch is None
                for name in ("sources", "asked"):
                    answers = [
                        block.invoke(name),
                        block.sql(f"INVOKE {name}"),
                        block.sql(f"INVOKE {name} WHERE src = 1"),
                        block.sql("SELECT src FROM packets [RANGE 1 MINUTE]"),
                    ]
                    assert [(answer.as_of, len(answer)) for answer in answers] == [(None, 0)] * 4
            assert len(database.read_again(lambda block: block.invoke("sources"))) == 0


def test_an_invocation_counts_when_it_is_asked(db, monkeypatch):
    counted = []

    answer = db.query("sources").invoke()
    db._reads._invocations.taken()

    def invoke(*_: object, **__: object) -> Answer:
        counted.append(dict(db._reads._invocations.taken()))
        return answer

    monkeypatch.setattr(db._answers, "invoke", invoke)
    db.query("sources").invoke()
    assert counted == [{"sources": 1}], "also while its reader waits"
