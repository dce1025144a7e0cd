"""Following the changes of a query as epochs are committed: in a thread that waits, or in an asyncio loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import closing

from panes.answers.answer_source import AnswerSource
from panes.answers.changes import Change
from panes.answers.readers import Readers
from panes.clock import Clock, WallClock
from panes.errors import EvaluationError, PanesError

Find = Callable[[], AnswerSource]
"""Gives the query as it stands now: before its first epoch it has no place to read from."""
Fail = Callable[[EvaluationError], None]
"""Is told that changes of the query cannot be computed; may raise another error."""


def seconds_of(timeout: float | None) -> float | None:
    """How long to wait; None means without end.

    Raises PanesError when it is not a number of seconds.

    >>> seconds_of(2), seconds_of(1e300), seconds_of(None)
    (2.0, None, None)
    """
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
        raise PanesError(f"timeout={timeout!r} is no number of seconds; None waits without end")
    return None if timeout > threading.TIMEOUT_MAX else float(timeout)


def follow_changes(
    readers: Readers, find: Find, fail: Fail, reader: str, *, restart: bool, timeout: float | None
) -> Iterator[Change]:
    """The changes that a reader has not read, as they come; ends when none comes for `timeout` seconds.

    It also ends when the database is closed. Raises CatalogError when the query is dropped, and QueryFailed when
    it is suspended.
    """
    rung, patience = threading.Event(), Patience(timeout, WallClock())
    with (
        readers.bell.heard_by(rung.set),
        closing(_Following(readers, find, fail, reader, restart)) as following,
    ):
        while True:
            # Cleared before looking: an epoch that comes while we look is either seen or rings afterwards.
            rung.clear()
            change = following.next()
            if change is not None:
                yield change
                patience.renew()
            elif timeout == 0 or following.is_over() or not rung.wait(patience.left()):
                return


async def follow_changes_async(
    readers: Readers, find: Find, fail: Fail, reader: str, *, restart: bool, timeout: float | None
) -> AsyncGenerator[Change, None]:
    """The same in an asyncio loop. Changes are read in a thread; waiting takes none."""
    loop, rung, patience = asyncio.get_running_loop(), asyncio.Event(), Patience(timeout, WallClock())

    def wake() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(rung.set)

    following = _Following(readers, find, fail, reader, restart)
    with readers.bell.heard_by(wake):
        try:
            while True:
                rung.clear()
                change = await asyncio.to_thread(following.next)
                if change is not None:
                    yield change
                    patience.renew()
                elif (
                    timeout == 0
                    or await asyncio.to_thread(following.is_over)
                    or not await _set_within(rung, patience.left())
                ):
                    return
        finally:
            # After a cancellation a thread may still be reading: it is waited for, but not by the loop.
            await asyncio.shield(asyncio.to_thread(following.close))


class Patience:
    """How long to wait for the next change: epochs that bring none do not make it longer."""

    def __init__(self, timeout: float | None, clock: Clock) -> None:
        self._timeout = timeout
        self._clock = clock
        self.renew()

    def renew(self) -> None:
        """The time begins anew."""
        self._began: float | None = None

    def left(self) -> float | None:
        """The seconds that are left since this was first asked; None when there is no end."""
        if self._timeout is None:
            return None
        if self._began is None:
            self._began = self._clock.elapsed()
        return max(0.0, self._timeout - (self._clock.elapsed() - self._began))


async def _set_within(event: asyncio.Event, timeout: float | None) -> bool:
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except TimeoutError:
        return False
    return True


class _Following:
    """The place of one reader in the changes of a query. One thread at a time moves it on; others wait."""

    def __init__(self, readers: Readers, find: Find, fail: Fail, reader: str, restart: bool) -> None:
        self._fail = fail
        self._readers = readers
        self._find = find
        self._reader = reader
        self._restart = restart
        self._standing = find()
        self._changes: Generator[Change | None, None, None] | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def next(self) -> Change | None:
        """The next change; None when there is none yet."""
        with self._lock:
            if self._is_closed:
                return None
            if self._changes is None:
                if self._readers.is_over(self._standing):
                    return None
                self._standing = self._find()
                self._changes = self._readers.follow(self._standing, self._reader, restart=self._restart)
            try:
                return next(self._changes)
            except EvaluationError as error:
                self._fail(error)
                raise
            except StopIteration:
                # No epoch has the query yet.
                self._changes = None
                return None

    def is_over(self) -> bool:
        """Whether nothing more can come, because the database was closed.

        Raises CatalogError when the query was dropped, and QueryFailed when it is suspended.
        """
        if self._readers.is_over(self._standing):
            return True
        try:
            self._find()
        except Exception:
            if self._readers.is_over(self._standing):
                return True
            raise
        return False

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._changes is not None:
                self._changes.close()
