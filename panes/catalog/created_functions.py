"""The functions and aggregates that users have created."""

from __future__ import annotations

from panes.catalog.parsed_once import parsed_once
from panes.errors import CatalogError
from panes.language.statements import CreateFunction
from panes.sqlite_file import SqliteFile


class CreatedFunctions:
    """The table of functions in the file of the catalog."""

    SCHEMA = "CREATE TABLE functions (name TEXT PRIMARY KEY, sql TEXT NOT NULL);"

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._select, self._execute = file.select, file.execute

    def create(self, statement: CreateFunction) -> None:
        """Adds a function; CatalogError when there is one of its name."""
        with self._file.transaction():
            if statement.name in self.by_name():
                raise CatalogError(
                    f"there is already a function named {statement.name!r}; drop it first or choose another name"
                )
            self._execute("INSERT INTO functions VALUES (?, ?)", statement.name, statement.sql)

    def drop(self, name: str) -> None:
        """Takes a function away; CatalogError when there is none of that name."""
        with self._file.transaction():
            if not self._execute("DELETE FROM functions WHERE name = ?", name):
                raise CatalogError(
                    f"there is no function named {name!r}; SHOW FUNCTIONS lists those there are"
                )

    def by_name(self) -> dict[str, CreateFunction]:
        """The functions and aggregates of users, by name."""
        found = (parsed_once(str(sql)) for (sql,) in self._select("SELECT sql FROM functions ORDER BY rowid"))
        return {statement.name: statement for statement in found if isinstance(statement, CreateFunction)}
