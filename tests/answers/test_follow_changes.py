"""Followers of changes: they wait for epochs, are woken by them, and end when nothing more can come."""

from __future__ import annotations

import asyncio
import math
import threading
from contextlib import aclosing
from dataclasses import replace
from queue import Queue

import pytest

from panes.answers.changes import Change
from panes.answers.follow_changes import Patience, follow_changes, follow_changes_async, seconds_of
from panes.clock import HandClock
from panes.errors import CatalogError, ChangesGone, DatabaseClosed, EvaluationError, PanesError, QueryFailed
from panes.state.storage.epoch_log import NOTHING
from tests.answers.kept import Kept
from tests.answers.test_readers import WINDOW, came

PATIENCE_S = 30
"""After so long a test gives up; none of them needs it."""


@pytest.fixture
def database(tmp_path):
    return Kept(tmp_path, WINDOW)


def no_failure(error: EvaluationError) -> None:
    raise AssertionError(error)


def within(database: Kept, reader: str = "phone", *, restart: bool = False, timeout: float | None = None):
    return follow_changes(
        database.readers, lambda: database.standing, no_failure, reader, restart=restart, timeout=timeout
    )


def as_they_come(database: Kept, reader: str = "phone", *, timeout: float | None = None):
    return follow_changes_async(
        database.readers, lambda: database.standing, no_failure, reader, restart=False, timeout=timeout
    )


class Follower:
    """A thread that reads changes; what it reads, and how it ends, comes out of a queue."""

    def __init__(self, database: Kept, **options: bool | float | None) -> None:
        self._out: Queue[Change | BaseException | str] = Queue()
        self._thread = threading.Thread(target=self._run, args=(within(database, **options),), daemon=True)
        self._thread.start()

    def _run(self, changes) -> None:
        try:
            for change in changes:
                self._out.put(change)
            self._out.put("end")
        except BaseException as error:
            self._out.put(error)

    def next(self) -> Change | BaseException | str:
        return self._out.get(timeout=PATIENCE_S)


def test_a_follower_is_woken_by_every_epoch(database):
    database.epoch(came(("1", 1)), 1)
    follower = Follower(database)
    assert follower.next().epoch == 0
    for clock in (2, 3, 4):
        epoch = database.epoch(came((str(clock), clock)), clock)
        change = follower.next()
        assert (change.epoch, change.inserted.column("s.a").to_pylist()) == (epoch, [str(clock)])
    database.readers.close()
    assert follower.next() == "end"


def test_a_follower_may_come_before_the_first_epoch(database):
    follower = Follower(database)
    epoch = database.epoch(came(("1", 1)), 1)
    change = follower.next()
    assert (change.epoch, change.is_whole) == (epoch, True)
    database.readers.close()
    assert follower.next() == "end"


def test_a_follower_of_a_query_that_no_epoch_has_seen_finds_it_when_one_has(tmp_path):
    database = Kept(tmp_path, WINDOW, first_epoch=1, since=1)
    database.first_epoch = None
    assert list(within(database, timeout=0.0)) == []
    follower = Follower(database)
    database.first_epoch = 1
    database.epoch(came(("2", 2)), 2)
    assert follower.next().epoch == 1
    database.readers.close()
    assert follower.next() == "end"


def test_without_a_timeout_it_ends_at_the_last_epoch(database):
    for clock in (1, 2):
        database.epoch(came((str(clock), clock)), clock)
    assert [change.epoch for change in within(database, timeout=0.0)] == [0, 1]
    assert list(within(database, timeout=0.0)) == []


def test_it_ends_when_no_epoch_comes_in_time(database):
    database.epoch(came(("1", 1)), 1)
    assert [change.epoch for change in within(database, timeout=0.001)] == [0]
    assert database.readers.readers(database.standing) == {"phone": 0}


def test_a_restarting_follower_begins_once_with_the_whole_answer_and_then_goes_on(database):
    for clock in (1, 2):
        database.epoch(came((str(clock), clock)), clock)
    follower = Follower(database, restart=True)
    first = follower.next()
    assert (first.epoch, first.is_whole) == (1, True)
    database.epoch(came(("3", 3)), 3)
    second = follower.next()
    assert (second.epoch, second.is_whole) == (2, False)
    database.readers.close()
    assert follower.next() == "end"


def test_a_waiting_follower_misses_nothing_however_much_is_collected(database):
    database.epoch(came(("1", 1)), 1)
    changes = within(database)
    assert next(changes).epoch == 0
    for clock in range(2, 9):
        database.epoch(came((str(clock), clock)), clock)
        database.collect(retain_epochs=0)
    assert [next(changes).epoch for _ in range(7)] == list(range(1, 8))


def test_dropping_the_query_ends_the_waiting_with_an_error(database):
    database.epoch(came(("1", 1)), 1)
    follower = Follower(database)
    assert follower.next().epoch == 0
    database.readers.forget_query(database.standing.id)
    error = follower.next()
    assert isinstance(error, CatalogError)
    assert str(error) == "query 'q' was dropped while it was being read"


def test_a_query_that_is_suspended_ends_the_waiting_with_its_error(database):
    database.epoch(came(("1", 1)), 1)
    follower = Follower(database)
    assert follower.next().epoch == 0
    database.log.commit(replace(NOTHING, epoch=1))
    error = follower.next()
    assert isinstance(error, QueryFailed)
    assert str(error) == "query 'q' failed in epoch 1 and is suspended"


def test_an_epoch_without_the_query_says_that_it_was_dropped(database):
    database.epoch(came(("1", 1)), 1)
    follower = Follower(database)
    assert follower.next().epoch == 0
    database.dropped = True
    database.log.commit(replace(NOTHING, epoch=1))
    assert str(follower.next()) == "query 'q' was dropped while it was being read"


def test_a_change_that_is_worked_on_while_the_database_is_closed_is_not_counted_as_read(database):
    database.epoch(came(("1", 1)), 1)
    changes = within(database)
    assert next(changes).epoch == 0
    again = database.reopened()
    with pytest.raises(DatabaseClosed):
        next(changes)
    assert next(within(again)).epoch == 0


def test_a_follower_that_comes_too_late_is_told(database):
    database.epoch(came(("1", 1)), 1)
    assert len(list(within(database, timeout=0.0))) == 1
    for clock in (2, 3, 4):
        database.epoch(came(), clock)
    database.collect(retain_epochs=0)
    with pytest.raises(ChangesGone, match="restart=True"):
        next(within(database))


def test_epochs_without_a_change_do_not_make_the_waiting_longer():
    clock = HandClock()
    patience, endless = Patience(3.0, clock), Patience(None, clock)
    clock.advance(5_000_000)
    assert patience.left() == 3.0
    clock.advance(2_000_000)
    assert patience.left() == 1.0
    clock.advance(2_000_000)
    assert (patience.left(), endless.left()) == (0.0, None)
    patience.renew()
    assert patience.left() == 3.0


@pytest.mark.parametrize("timeout", [-1, math.nan, "soon", True])
def test_what_is_no_number_of_seconds_is_refused(timeout):
    with pytest.raises(PanesError, match="is no number of seconds; None waits without end"):
        seconds_of(timeout)


def test_asyncio_is_woken_by_every_epoch_and_ends_when_the_database_is_closed(database):
    async def follow() -> list[int]:
        seen = []
        async for change in as_they_come(database):
            seen.append(change.epoch)
            if change.epoch < 3:
                clock = change.epoch + 2
                await asyncio.to_thread(database.epoch, came((str(clock), clock)), clock)
            else:
                # After the change has been read and the loop waits again.
                asyncio.get_running_loop().call_later(0, asyncio.create_task, close_when_read())
        return seen

    async def close_when_read() -> None:
        while database.readers.readers(database.standing) != {"phone": 3}:
            await asyncio.sleep(0)
        database.readers.close()

    database.epoch(came(("1", 1)), 1)
    assert asyncio.run(asyncio.wait_for(follow(), PATIENCE_S)) == [0, 1, 2, 3]


def test_asyncio_ends_when_no_epoch_comes_in_time(database):
    async def follow() -> list[int]:
        return [change.epoch async for change in as_they_come(database, timeout=0.001)]

    database.epoch(came(("1", 1)), 1)
    assert asyncio.run(follow()) == [0]


def test_a_cancelled_task_lets_go_of_everything_it_held(database):
    async def wait_and_be_cancelled() -> None:
        first = asyncio.Event()

        async def follow() -> None:
            async with aclosing(as_they_come(database)) as changes:
                async for _ in changes:
                    first.set()

        task = asyncio.create_task(follow())
        await first.wait()
        while database.readers.readers(database.standing) != {"phone": 0}:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    database.epoch(came(("1", 1)), 1)
    asyncio.run(asyncio.wait_for(wait_and_be_cancelled(), PATIENCE_S))
    assert database.readers.bell._listeners == {}
    assert database.log.holds._held == {}
    database.epoch(came(("2", 2)), 2)
    assert [change.epoch for change in within(database, timeout=0.0)] == [1]


def test_more_tasks_may_wait_than_there_are_threads(database):
    followers = 100

    async def follow(reader: str) -> list[int]:
        return [change.epoch async for change in as_they_come(database, reader)]

    async def all_of_them() -> list[list[int]]:
        tasks = [asyncio.create_task(follow(f"reader-{n}")) for n in range(followers)]
        while len(database.readers.readers(database.standing)) < followers:
            await asyncio.sleep(0)
        database.epoch(came(("2", 2)), 2)
        while set(database.readers.readers(database.standing).values()) != {1}:
            await asyncio.sleep(0)
        database.readers.close()
        return await asyncio.gather(*tasks)

    database.epoch(came(("1", 1)), 1)
    assert asyncio.run(asyncio.wait_for(all_of_them(), PATIENCE_S)) == [[0, 1]] * followers
