"""How far each reader of each query has come, in one SQLite file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from panes.errors import StateError
from panes.sqlite_file import SqliteFile

_SCHEMA = """
CREATE TABLE readers (
  query INTEGER NOT NULL, reader TEXT NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (query, reader)) WITHOUT ROWID;
"""


class ReaderPlace(NamedTuple):
    """How far a reader of a query has come."""

    query: int
    reader: str
    epoch: int


class Cursors:
    """The last epoch whose changes a reader has read.

    A cursor is safe when the process ends in any way. When the machine fails it may be an older one, and some
    changes come again.
    """

    def __init__(
        self, path: Path, database: str = "", *, must_exist: bool = False, read_only: bool = False
    ) -> None:
        """`database` is the id of the database; `must_exist` says that it had readers' places before."""
        if must_exist and not path.exists():
            raise StateError(
                f"{path} is missing: it said how far each reader of changes had come; restore it from a copy, or "
                f"let all readers begin anew with: panes check --forget-readers {path.parent}"
            )
        self.moves = 0
        """How many times a place has changed since the file was opened."""
        self._file = SqliteFile(path, _SCHEMA, database=database, read_only=read_only, is_durable=False)
        if self._file.database != database:
            self._file.close()
            raise StateError(
                f"{path} belongs to another database; restore it from a copy, or let all readers begin anew with: "
                f"panes check --forget-readers {path.parent}"
            )

    def close(self) -> None:
        self._file.close()

    def furthest(self) -> int:
        """The last epoch that any reader has read; -1 when there is none."""
        ((epoch,),) = self._file.select("SELECT max(epoch) FROM readers")
        return -1 if epoch is None else int(epoch)

    def get(self, query: int, reader: str) -> int | None:
        return self.of_query(query).get(reader)

    def of_query(self, query: int) -> dict[str, int]:
        """All readers of a query, by name."""
        rows = self._file.select("SELECT reader, epoch FROM readers WHERE query = ? ORDER BY reader", query)
        return {str(reader): int(epoch) for reader, epoch in rows}

    def move(self, query: int, reader: str, epoch: int) -> None:
        """Moves a reader on; never back, should two threads read under one name."""
        self._change(
            "INSERT INTO readers VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET epoch = max(epoch, excluded.epoch)",
            query,
            reader,
            epoch,
        )

    def forget(self, query: int, reader: str) -> None:
        self._change("DELETE FROM readers WHERE query = ? AND reader = ?", query, reader)

    def forget_query(self, query: int) -> None:
        self._change("DELETE FROM readers WHERE query = ?", query)

    def places(self) -> list[ReaderPlace]:
        """Of all readers."""
        rows = self._file.select("SELECT query, reader, epoch FROM readers ORDER BY query, reader")
        return [ReaderPlace(*row) for row in rows]

    def put(self, places: Iterable[ReaderPlace]) -> None:
        """Takes over the places of readers."""
        with self._file.transaction():
            for place in places:
                self.move(*place)

    def _change(self, sql: str, *values: int | str) -> None:
        self._file.execute(sql, *values)
        self.moves += 1
