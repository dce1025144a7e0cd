"""The comments on streams, tables and queries, and on their columns."""

from __future__ import annotations

from collections.abc import Sequence

from panes.sqlite_file import SqliteFile


class Comments:
    """The table of comments in the file of the catalog."""

    SCHEMA = """
CREATE TABLE comments (
  name TEXT NOT NULL COLLATE NOCASE, column_name TEXT NOT NULL COLLATE NOCASE, comment TEXT NOT NULL,
  PRIMARY KEY (name, column_name));
"""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._select, self._execute = file.select, file.execute

    def set(self, name: str, column: str | None, comment: str | None) -> None:
        """Notes a comment on what has the name, or on a column of it; None takes it away."""
        place = (name, column or "")
        with self._file.transaction():
            self._execute("DELETE FROM comments WHERE (name, column_name) = (?, ?)", *place)
            if comment is not None:
                self._execute("INSERT INTO comments VALUES (?, ?, ?)", *place, comment)

    def of(self, name: str) -> dict[str | None, str]:
        """The comments on what has the name: its own under None, the others by the names of columns."""
        rows = self._select("SELECT column_name, comment FROM comments WHERE name = ?", name)
        return {str(column) or None: str(comment) for column, comment in rows}

    def of_objects(self) -> dict[str, str]:
        """The comments on streams, tables and queries, without those on columns, by names whose case is folded."""
        rows = self._select("SELECT name, comment FROM comments WHERE column_name = ''")
        return {str(name).casefold(): str(comment) for name, comment in rows}

    def keep(self, name: str, columns: Sequence[str]) -> None:
        """Takes away the comments on columns that a query has no longer."""
        gone = self.of(name).keys() - {None, *columns}
        for column in sorted(column for column in gone if column is not None):
            self.set(name, column, None)

    def rename(self, name: str, new_name: str) -> None:
        """Lets what had a name keep its comments under another."""
        self._execute("UPDATE comments SET name = ? WHERE name = ?", new_name, name)

    def forget(self, name: str) -> None:
        """Takes away all comments on what has the name, and on its columns."""
        self._execute("DELETE FROM comments WHERE name = ?", name)
