"""What `on_epoch` is told, and what becomes of a run in which it raises."""

from __future__ import annotations

import asyncio
import threading

import pytest

import panes
from panes.testing import local

PATIENCE_S = 120
"""How long to wait for what must come: far longer than it takes."""


@pytest.fixture
def db(tmp_path):
    """A database of four files, one for each epoch."""
    folder = tmp_path / "in"
    folder.mkdir()
    for second in range(4):
        (folder / f"{second}.csv").write_text(f"{second}\n")
    with local(tmp_path / "db") as db:
        db.sql(
            f"CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS FROM FILES '{folder}' "
            "WITH (format = 'csv', files_per_epoch = 1)"
        )
        db.register("SELECT ts FROM s [RANGE 1 DAY]", name="all")
        yield db


def seen(db) -> list[int]:
    return sorted(row["ts"] for row in db.query("all").invoke().to_pylist())


class Failing:
    """Notes the numbers of epochs, and raises after one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.told: list[int] = []
        self.has_raised = threading.Event()

    def __call__(self, epoch: panes.Epoch) -> None:
        self.told.append(epoch.number)
        if epoch.number == self.at:
            self.has_raised.set()
            raise ZeroDivisionError("mine")


def test_a_run_ends_with_what_on_epoch_raised_and_the_next_goes_on_after_that_epoch(db):
    failing = Failing(at=1)
    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        db.run(on_epoch=failing)
    assert raised.value.__notes__ == [
        "on_epoch raised this after epoch 1, which is committed; the run ended with it"
    ]
    assert (failing.told, db.status().epoch) == ([0, 1], 1)
    failing.at = -1
    db.run(on_epoch=failing)
    # No epoch is told twice, and the last one, without rows, takes the clock to the last tuple.
    assert failing.told == [0, 1, 2, 3, 4]
    assert seen(db) == [0, 1, 2, 3]


def test_what_on_epoch_raises_after_the_last_epoch_of_a_run_comes_too(db):
    failing = Failing(at=4)
    with pytest.raises(ZeroDivisionError, match="mine"):
        db.run(on_epoch=failing)
    assert failing.told == [0, 1, 2, 3, 4]
    assert seen(db) == [0, 1, 2, 3]
    db.run(on_epoch=failing)
    assert failing.told == [0, 1, 2, 3, 4]


def test_a_background_run_ends_and_status_and_stop_tell_why(db):
    failing = Failing(at=1)
    db.start(on_epoch=failing)
    assert failing.has_raised.wait(PATIENCE_S)
    for ask in (db.status, db.status, db.stop):
        with pytest.raises(ZeroDivisionError, match="mine"):
            ask()
    assert not db.status().is_running
    db.run(on_epoch=failing)
    assert failing.told == [0, 1, 2, 3, 4]
    assert seen(db) == [0, 1, 2, 3]


def test_a_follower_sees_every_change_of_a_background_run_as_it_comes(db):
    found = []

    def follow() -> None:
        found.extend(change.epoch for change in db.query("all").changes(timeout=None))

    follower = threading.Thread(target=follow)
    follower.start()
    db.run()
    for _ in range(PATIENCE_S * 50):
        if db.query("all").readers() == {"default": 4}:
            break
        threading.Event().wait(0.02)
    db.close()
    follower.join(PATIENCE_S)
    assert found == [0, 1, 2, 3, 4]


def test_asyncio_runs_invokes_and_follows(db):
    async def program() -> tuple[list[int], list[int]]:
        query = db.query("all")
        run = asyncio.create_task(db.run_async())
        epochs = []
        async for change in query.changes_async():
            epochs.append(change.epoch)
            if len(epochs) == 5:
                break
        await run
        return epochs, sorted(row["ts"] for row in (await query.invoke_async()).to_pylist())

    assert asyncio.run(program()) == ([0, 1, 2, 3, 4], [0, 1, 2, 3])


def test_a_cancelled_run_ends_after_the_epoch_that_is_under_way(db):
    told = []

    async def program() -> None:
        loop = asyncio.get_running_loop()

        def cancel_in_the_second(epoch: panes.Epoch) -> None:
            told.append(epoch.number)
            if epoch.number == 1:
                asyncio.run_coroutine_threadsafe(cancel(), loop).result(PATIENCE_S)

        async def cancel() -> None:
            run.cancel()
            # The cancelled task learns of it in the next turn of the loop.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        run = asyncio.create_task(db.run_async(on_epoch=cancel_in_the_second))
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(program())
    assert (told, db.status().epoch) == ([0, 1], 1)
    db.run()
    assert seen(db) == [0, 1, 2, 3]
