"""The definitions of streams and tables."""

from __future__ import annotations

from dataclasses import replace

from panes.catalog.parsed_once import parsed_once
from panes.errors import CatalogError
from panes.language.statements import CreateDerivedStream, CreateStream, CreateTable, renamed
from panes.sqlite_file import SqliteFile


class Definitions:
    """The table of streams and tables in the file of the catalog, which makes its changes in its own transactions.
    Each has a number that is never given to another."""

    SCHEMA = """CREATE TABLE objects (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE UNIQUE,
  sql TEXT NOT NULL, created_with INTEGER, retains_from INTEGER);"""

    def __init__(self, file: SqliteFile) -> None:
        self._select, self._execute = file.select, file.execute

    def add(self, statement: CreateStream | CreateDerivedStream | CreateTable) -> None:
        """Adds a stream or table, whose name must be free."""
        kind = "TABLE" if isinstance(statement, CreateTable) else "STREAM"
        self._execute(
            "INSERT INTO objects (kind, name, sql) VALUES (?, ?, ?)", kind, statement.name, statement.sql
        )

    def alter(self, statement: CreateStream, retains_from: int | None = None) -> None:
        """Puts another definition in the place of that of a stream, which may have more columns.

        `retains_from` is the clock from which on it keeps what its RETAIN says, when it kept less before.
        """
        stream = statement.stream
        self._execute(
            "UPDATE objects SET sql = ?, created_with = ?, retains_from = coalesce(?, retains_from) WHERE id = ?",
            *(statement.sql, stream.created_with, retains_from, stream.number),
        )

    def rename(self, name: str, new_name: str) -> None:
        """Gives a stream or table that there is another name, in its statement too."""
        definition = self.find(name)
        assert definition is not None, name
        sql = renamed(definition, new_name).sql
        self._execute("UPDATE objects SET name = ?, sql = ? WHERE name = ?", new_name, sql, name)

    def drop(self, kind: str, name: str) -> bool:
        """Takes a stream or table away; False when there is none of that kind and name."""
        return bool(self._execute("DELETE FROM objects WHERE kind = ? AND name = ?", kind, name))

    def has(self, name: str) -> bool:
        """Whether a stream or table has that name."""
        return bool(self._select("SELECT 1 FROM objects WHERE name = ?", name))

    def find(self, name: str) -> CreateStream | CreateDerivedStream | CreateTable | None:
        """The statement that made a stream or table, with its number; None when there is none of that name."""
        rows = self._select("SELECT id, sql, created_with FROM objects WHERE name = ?", name)
        if not rows:
            return None
        number, sql, created_with = rows[0]
        statement = parsed_once(str(sql))
        if isinstance(statement, CreateStream):
            return CreateStream(replace(statement.stream, number=int(number), created_with=created_with))
        if isinstance(statement, CreateTable):
            return replace(statement, number=int(number))
        if not isinstance(statement, CreateDerivedStream):
            raise CatalogError(f"the catalog holds no definition under {name!r} but: {sql}")
        return statement

    def streams(self) -> list[CreateStream | CreateDerivedStream]:
        """In the order of creation."""
        found = (self.find(name) for name in self.names_of("STREAM"))
        return [
            statement for statement in found if isinstance(statement, (CreateStream, CreateDerivedStream))
        ]

    def tables(self) -> list[CreateTable]:
        """In the order of creation."""
        found = (self.find(name) for name in self.names_of("TABLE"))
        return [statement for statement in found if isinstance(statement, CreateTable)]

    def names(self) -> list[str]:
        """The streams, and then the tables."""
        return self.names_of("STREAM") + self.names_of("TABLE")

    def names_of(self, kind: str) -> list[str]:
        """In the order of creation."""
        return [
            str(row[0]) for row in self._select("SELECT name FROM objects WHERE kind = ? ORDER BY id", kind)
        ]

    def retains_from(self, stream: int) -> int | None:
        """The clock from which on a stream keeps what its RETAIN says; None: it always did."""
        rows = self._select("SELECT retains_from FROM objects WHERE id = ?", stream)
        return rows[0][0] if rows else None
