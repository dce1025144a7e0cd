"""How far each reader of each query has come, in one SQLite file."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS readers (
  query INTEGER NOT NULL, reader TEXT NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (query, reader)) WITHOUT ROWID;
"""


class Cursors:
    """The last epoch whose changes a reader has dealt with.

    A cursor is safe when the process ends in any way. When the machine fails it may be an older one, and some
    changes come again.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def get(self, query: int, reader: str) -> int | None:
        return self.of_query(query).get(reader)

    def of_query(self, query: int) -> dict[str, int]:
        """All readers of a query, by name."""
        with self._lock:
            sql = "SELECT reader, epoch FROM readers WHERE query = ? ORDER BY reader"
            with closing(self._connection.execute(sql, (query,))) as rows:
                return {str(reader): int(epoch) for reader, epoch in rows}

    def move(self, query: int, reader: str, epoch: int) -> None:
        """Moves a reader on; never back, should two threads read under one name."""
        self._execute(
            "INSERT INTO readers VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET epoch = max(epoch, excluded.epoch)",
            query,
            reader,
            epoch,
        )

    def forget(self, query: int, reader: str) -> None:
        self._execute("DELETE FROM readers WHERE query = ? AND reader = ?", query, reader)

    def forget_query(self, query: int) -> None:
        self._execute("DELETE FROM readers WHERE query = ?", query)

    def _execute(self, sql: str, *values: int | str) -> None:
        with self._lock:
            self._connection.execute(sql, values).close()
