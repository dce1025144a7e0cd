"""A lock for writers who share the wait for the disk.

Whoever holds the lock hands over what is to be stored, and it is safely stored when the `with` block has ended.
The wait for that comes after the lock is free, so that the next writer goes on meanwhile: what several have handed
over by then is stored by one of them in one go.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from panes.errors import StateError

Item = TypeVar("Item")

_FAILURES_KEPT = 100
"""Whoever waits hears of its failure long before that many later ones."""


class SharedFlush(Generic[Item]):
    """To be used as a context manager; a thread may enter it several times.

    When a flush fails, everything that was handed over and is not stored is given up, because it may build on what
    could not be stored: all who wait for it get an error, and so does whoever hands something over in a block that
    began before.
    """

    def __init__(self, store: Callable[[list[Item]], None], give_up: Callable[[], None]) -> None:
        """`store` stores items, all or none; `give_up` is called when it has failed, with the lock held."""
        self._store = store
        self._give_up = give_up
        self._lock = threading.RLock()
        self._depth = 0
        self._owner: int | None = None
        self._failures = 0
        """How many times a flush has failed."""
        self._failures_before = 0
        """The same when the holder of the lock came."""
        self._handed_over = 0
        self._queue: list[Item] = []
        self._state = threading.Lock()
        """Guards the numbers and the queue; it is never held for long."""
        self._flushing = threading.Lock()
        self._flushed = 0
        self._given_up: deque[tuple[range, BaseException]] = deque(maxlen=_FAILURES_KEPT)
        """The numbers of items that were given up, and why."""
        self._mine = threading.local()

    def __enter__(self) -> SharedFlush[Item]:
        self._lock.acquire()
        self._depth += 1
        self._owner = threading.get_ident()
        if self._depth == 1:
            self._failures_before = self._failures
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        is_outermost = self._depth == 0
        if is_outermost:
            self._owner = None
        self._lock.release()
        if is_outermost and (number := getattr(self._mine, "number", None)) is not None:
            self._mine.number = None
            self._flush(number)

    @property
    def is_mine(self) -> bool:
        """Whether the thread that asks holds the lock."""
        return self._owner == threading.get_ident()

    def hand_over(self, item: Item) -> None:
        """Has an item stored by the end of the block. The lock must be held."""
        assert self._depth, "the lock is held"
        if self._failures != self._failures_before:
            raise StateError(
                "a change that came just before could not be stored, and this one may build on it; try again"
            )
        with self._state:
            self._handed_over += 1
            self._queue.append(item)
            self._mine.number = self._handed_over

    def _flush(self, number: int) -> None:
        """Returns when the item of that number is stored, by this thread or another."""
        with self._flushing:
            with self._state:
                if number <= self._flushed:
                    self._check_stored(number)
                    return
                items, self._queue = self._queue, []
                last = self._handed_over
            try:
                self._store(items)
            except BaseException as failure:
                self._fail(failure)
                raise
            with self._state:
                self._flushed = last

    def _check_stored(self, number: int) -> None:
        for numbers, failure in self._given_up:
            if number in numbers:
                raise failure

    def _fail(self, failure: BaseException) -> None:
        with self._lock:
            with self._state:
                self._failures += 1
                self._queue = []
                self._given_up.append((range(self._flushed + 1, self._handed_over + 1), failure))
                self._flushed = self._handed_over
            self._give_up()
