"""A gate that is shut while an epoch is committed, so that what can wait does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_WAIT_S = 0.1


class CommitGate:
    """For one thread that commits, and any number that wait for it."""

    def __init__(self) -> None:
        self._is_open = threading.Event()
        self._is_open.set()

    @contextmanager
    def shut(self) -> Iterator[None]:
        """While an epoch is committed."""
        self._is_open.clear()
        try:
            yield
        finally:
            self._is_open.set()

    def wait(self) -> None:
        """Returns when no commit is under way, or when it takes long."""
        self._is_open.wait(_LONGEST_WAIT_S)
