"""What the database knows of: streams, tables, registered queries and settings, in one SQLite file.

Objects are kept as the text of the statement that made them; every change is one transaction.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panes.config import SETTINGS, Value, check_setting
from panes.errors import CatalogError
from panes.language import parse
from panes.language.statements import CreateDerivedStream, CreateStream, CreateTable

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE UNIQUE,
  sql TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS queries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE UNIQUE, sql TEXT NOT NULL,
  shards INTEGER NOT NULL, strategy TEXT NOT NULL, partitions INTEGER NOT NULL, first_epoch INTEGER);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value NOT NULL);
"""


@dataclass(frozen=True)
class QueryRecord:
    """A registered query. Its id is never used again, so its state never meets that of another."""

    id: int
    name: str
    sql: str
    shards: int
    strategy: str
    partitions: int
    first_epoch: int | None
    """The epoch whose tuples it sees first; None until one has begun."""


class Catalog:
    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    # Streams and tables.

    def create(self, statement: CreateStream | CreateDerivedStream | CreateTable) -> None:
        kind = "TABLE" if isinstance(statement, CreateTable) else "STREAM"
        if self._sql_of("objects", statement.name) is not None:
            raise CatalogError(
                f"there is already a stream or table named {statement.name!r}; "
                "drop it first or choose another name"
            )
        self._execute(
            "INSERT INTO objects (kind, name, sql) VALUES (?, ?, ?)", kind, statement.name, statement.sql
        )

    def drop(self, kind: str, name: str) -> None:
        if not self._execute("DELETE FROM objects WHERE kind = ? AND name = ?", kind, name):
            raise self._missing(kind, name)

    def stream(self, name: str) -> CreateStream | CreateDerivedStream | None:
        statement = self._object(name)
        return None if isinstance(statement, CreateTable) else statement

    def table(self, name: str) -> CreateTable | None:
        statement = self._object(name)
        return statement if isinstance(statement, CreateTable) else None

    def streams(self) -> list[CreateStream | CreateDerivedStream]:
        """In the order of creation."""
        found = (self._object(name) for name in self._names("STREAM"))
        return [
            statement for statement in found if isinstance(statement, (CreateStream, CreateDerivedStream))
        ]

    def base_streams(self) -> list[tuple[int, CreateStream]]:
        """The streams that have a source, each with a number that is never given to another."""
        numbers = self._select("SELECT id, name FROM objects WHERE kind = 'STREAM' ORDER BY id")
        found = ((int(number), self._object(str(name))) for number, name in numbers)
        return [(number, stream) for number, stream in found if isinstance(stream, CreateStream)]

    def tables(self) -> list[CreateTable]:
        found = (self._object(name) for name in self._names("TABLE"))
        return [statement for statement in found if isinstance(statement, CreateTable)]

    def names(self) -> Sequence[str]:
        return self._names("STREAM") + self._names("TABLE")

    # Queries.

    def register(self, name: str, sql: str, shards: int, strategy: str, partitions: int) -> QueryRecord:
        if self._sql_of("queries", name) is not None:
            raise CatalogError(
                f"there is already a query named {name!r}; drop it first or choose another name"
            )
        self._execute(
            "INSERT INTO queries (name, sql, shards, strategy, partitions) VALUES (?, ?, ?, ?, ?)",
            name,
            sql,
            shards,
            strategy,
            partitions,
        )
        return self.query(name)

    def query(self, name: str) -> QueryRecord:
        found = self._queries("WHERE name = ?", name)
        if not found:
            raise self._missing("QUERY", name)
        return found[0]

    def queries(self) -> list[QueryRecord]:
        """In the order of registration."""
        return self._queries("ORDER BY id")

    def drop_query(self, name: str) -> QueryRecord:
        record = self.query(name)
        self._execute("DELETE FROM queries WHERE id = ?", record.id)
        return record

    def begin_queries(self, epoch: int) -> list[QueryRecord]:
        """The queries of an epoch; those registered since the last one see their first tuples in it."""
        with self._lock:
            # An epoch that failed is done again under its number: what began in it begins in it again.
            self._execute("UPDATE queries SET first_epoch = ? WHERE first_epoch IS NULL", epoch)
            return self.queries()

    # Settings.

    def setting(self, name: str) -> Value:
        check_setting(name, SETTINGS[name].default if name in SETTINGS else 0)
        rows = self._select("SELECT value FROM settings WHERE name = ?", name)
        return rows[0][0] if rows else SETTINGS[name].default

    def set(self, name: str, value: Value) -> None:
        self._execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, check_setting(name, value))

    def _object(self, name: str) -> CreateStream | CreateDerivedStream | CreateTable | None:
        sql = self._sql_of("objects", name)
        if sql is None:
            return None
        (statement,) = parse(sql)
        if not isinstance(statement, (CreateStream, CreateDerivedStream, CreateTable)):
            raise CatalogError(f"the catalog holds no definition under {name!r} but: {sql}")
        return statement

    def _sql_of(self, table: str, name: str) -> str | None:
        rows = self._select(f"SELECT sql FROM {table} WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def _names(self, kind: str) -> list[str]:
        return [
            str(row[0]) for row in self._select("SELECT name FROM objects WHERE kind = ? ORDER BY id", kind)
        ]

    def _queries(self, clause: str, *values: Value) -> list[QueryRecord]:
        columns = "id, name, sql, shards, strategy, partitions, first_epoch"
        return [QueryRecord(*row) for row in self._select(f"SELECT {columns} FROM queries {clause}", *values)]

    def _missing(self, kind: str, name: str) -> CatalogError:
        known = [q.name for q in self.queries()] if kind == "QUERY" else self._names(kind)
        there = f"there are {', '.join(known)}" if known else "there are none yet"
        return CatalogError(f"there is no {kind.lower()} named {name!r}; {there}")

    def _select(self, sql: str, *values: Value) -> list[Any]:
        with self._lock, closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall()

    def _execute(self, sql: str, *values: Value) -> int:
        with self._lock, closing(self._connection.execute(sql, values)) as cursor:
            return cursor.rowcount
