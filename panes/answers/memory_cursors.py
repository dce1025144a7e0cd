"""How far each reader of each query has come, for a connection that may not write."""

from __future__ import annotations

import threading


class MemoryCursors:
    """What `Cursors` keeps, kept for as long as the connection is open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epochs: dict[int, dict[str, int]] = {}

    def close(self) -> None:
        """There is nothing to close."""

    def get(self, query: int, reader: str) -> int | None:
        with self._lock:
            return self._epochs.get(query, {}).get(reader)

    def of_query(self, query: int) -> dict[str, int]:
        """All readers of a query, by name."""
        with self._lock:
            return dict(sorted(self._epochs.get(query, {}).items()))

    def move(self, query: int, reader: str, epoch: int) -> None:
        """Moves a reader on; never back, should two threads read under one name."""
        with self._lock:
            of_query = self._epochs.setdefault(query, {})
            of_query[reader] = max(epoch, of_query.get(reader, epoch))

    def forget(self, query: int, reader: str) -> None:
        with self._lock:
            self._epochs.get(query, {}).pop(reader, None)

    def forget_query(self, query: int) -> None:
        with self._lock:
            self._epochs.pop(query, None)
