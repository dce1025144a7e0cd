"""A bell: wakes those who wait for the next epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Bell:
    """Calls its listeners when something has happened that they may wait for.

    A listener is called on the thread that rings, so it does no more than wake another one. What happened is for
    the woken one to find out: several rings may be heard as one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[int, Callable[[], object]] = {}
        self._next = 0

    def ring(self) -> None:
        """Calls every listener."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    @contextmanager
    def heard_by(self, listener: Callable[[], object]) -> Iterator[None]:
        """Calls the listener at every ring from now until the end of the block."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            self._listeners[number] = listener
        try:
            yield
        finally:
            with self._lock:
                del self._listeners[number]
