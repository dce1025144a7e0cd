"""Runs: when one may begin, and what happens to it when streams come and go. Epochs are in tests/spark."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

import panes
from panes import errors
from panes.state.storage.epoch_log import NOTHING
from panes.status import Epoch


class Engine:
    """Stands for the engine that runs epochs on Spark; notes what it is told."""

    def __init__(self) -> None:
        self.is_running = False
        self.calls: list[str] = []
        self.given: dict[str, object] = {}

    def start(self, streams, _workload, after_commit, **given) -> None:
        self.is_running = True
        self.calls.append("start " + " ".join(stream.name for stream in streams))
        self.after_commit, self.given = after_commit, given

    def stop(self, *, cut: bool = False) -> None:
        self.is_running = False
        self.calls.append("cut" if cut else "stop")

    def wait(self) -> None:
        self.is_running = False

    def catch_up(self) -> None:
        self.calls.append("catch up")

    def check(self) -> None:
        pass

    @property
    def stores(self) -> SimpleNamespace:
        return SimpleNamespace(forget=lambda stream: self.calls.append(f"forget {stream.name}"))

    def close(self) -> None:
        pass


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def db(tmp_path, monkeypatch, engine):
    with panes.connect(tmp_path / "db") as database:
        monkeypatch.setattr(database._runs, "_engine", engine)
        monkeypatch.setattr(database, "_engine", engine)
        object.__setattr__(database._context, "engine", engine)
        database.sql("CREATE STREAM packets (k BIGINT)")
        yield database


def test_a_database_without_streams_has_nothing_to_run(tmp_path):
    with panes.connect(tmp_path / "empty") as db, pytest.raises(errors.SourceError, match="CREATE STREAM"):
        db.run()


def test_a_run_takes_in_what_is_there_and_catches_up(db, engine):
    db.run()
    assert engine.calls == ["start packets", "catch up"]
    assert engine.given["heartbeat_s"] is None


def test_a_background_run_has_the_heartbeat_and_the_size_of_epochs_of_the_settings(db, engine):
    db.sql("SET heartbeat = 3; SET epoch_megabytes = 2")
    db.start()
    assert (engine.given["heartbeat_s"], engine.given["epoch_bytes"]) == (3.0, 2_000_000)


def test_a_second_run_cannot_begin_before_the_first_is_stopped(db):
    db.start()
    for begin in (db.start, db.run):
        with pytest.raises(errors.CatalogError, match=r"running in the background; stop\(\) it first"):
            begin()
    db.stop()
    db.run()


def test_streams_that_come_and_go_restart_a_background_run_with_the_same_listener(db, engine):
    def listen(_: Epoch) -> None: ...

    db.start(listen)
    db.sql("CREATE STREAM more (k BIGINT)")
    db.sql("DROP STREAM packets")
    assert engine.calls == [
        "start packets", "stop", "start packets more", "stop", "start more", "forget packets"
    ]  # fmt: skip
    assert db._runs._on_epoch is listen
    db.stop()
    db.sql("DROP STREAM more")
    assert engine.calls[-2:] == ["stop", "forget more"]


def test_a_change_of_streams_that_is_refused_leaves_the_background_run_going(db, engine):
    db.start()
    with pytest.raises(errors.CatalogError, match="already a stream"):
        db.sql("CREATE STREAM packets (k BIGINT)")
    assert engine.is_running
    assert engine.calls == ["start packets", "stop", "start packets"]


def test_a_run_that_fails_is_cut_and_raises_the_same(db, engine, monkeypatch):
    def fail() -> None:
        raise errors.PipelineError("the disk is full")

    monkeypatch.setattr(engine, "wait", fail)
    with pytest.raises(errors.PipelineError, match="the disk is full"):
        db.run()
    assert engine.calls == ["start packets", "cut"]


def test_readers_leave_room_for_epochs_only_while_a_run_is_under_way(db):
    pace = db._answers.current._ready
    db.start()
    assert pace.is_kept
    db.stop()
    assert not pace.is_kept
    db.run()
    assert not pace.is_kept


def test_a_cancelled_run_ends_after_the_epoch_that_is_under_way(db, engine, monkeypatch):
    is_under_way, may_commit, told = threading.Event(), threading.Event(), []

    def wait() -> None:
        is_under_way.set()
        may_commit.wait()
        engine.after_commit(replace(NOTHING, epoch=0))

    monkeypatch.setattr(engine, "wait", wait)

    async def cancel() -> None:
        running = asyncio.ensure_future(db.run_async(told.append))
        await asyncio.to_thread(is_under_way.wait)
        running.cancel()
        await asyncio.sleep(0)
        may_commit.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancel())
    assert [epoch.number for epoch in told] == [0]
    assert engine.calls == ["start packets", "cut"]
