"""Every error that Panes raises on purpose.

    PanesError
    ├── SqlError            a statement cannot be understood or is refused: line, column, caret
    ├── CatalogError        a stream, table or query is missing, exists already, or is still in use
    ├── SourceError         a source of a stream cannot be read
    ├── ConstraintError     a row that a table does not take: another type, NULL, or a primary key that is there
    ├── StateError          a file of the database is missing or damaged
    ├── EpochGone           an instant or an epoch that is no longer kept, or not there yet
    │   └── ChangesGone     a reader came back after its next changes were removed
    │       └── QueryBegunAnew  the query was altered or resumed since the reader last read
    ├── WindowMoved         epochs were committed while reads were to see the latest state
    ├── DatabaseInUse       another process holds the directory
    ├── DriverReplaced      another driver has taken over the database, elsewhere
    ├── DatabaseClosed      the database was used after close()
    ├── ReadOnly            the connection was opened with read_only=True
    ├── SettingError        an unknown setting, or a value it does not take
    ├── EnvironmentMissing  something outside Python is needed (Java), and how to get it
    ├── QueryFailed         a query failed and is suspended; the others go on
    ├── EvaluationError     a value cannot be computed, such as a sum beyond 64 bits
    ├── PipelineError       an epoch failed in Spark
    └── InternalError       a bug in Panes, found while it read a statement

    PanesWarning            a run has left something out, or something looks like a mistake; a warning, no error

A message says what went wrong, where, and what to do next. An error changes nothing.
"""

from __future__ import annotations


class PanesError(Exception):
    """The base of all errors of Panes: catch this one to catch them all."""

    details: str = ""
    """The whole text of an error of Spark, with Java's stack, or the traceback of an internal error."""


class SqlError(PanesError):
    """A statement that cannot be understood, or that is refused for a reason.

    >>> print(SqlError("there is no column named 'scr'", sql="SELECT scr FROM s [NOW]", line=1, column=8,
    ...                hint="did you mean 'src'?"))
    line 1, column 8: there is no column named 'scr'
      SELECT scr FROM s [NOW]
             ^
      did you mean 'src'?
    """

    def __init__(
        self, problem: str, *, sql: str = "", line: int = 1, column: int = 1, hint: str | None = None
    ) -> None:
        self.problem = problem
        self.sql = sql
        self.line = line
        self.column = column
        self.hint = hint
        super().__init__(self._render())

    def _render(self) -> str:
        parts = [f"line {self.line}, column {self.column}: {self.problem}"]
        lines = self.sql.splitlines()
        if 0 < self.line <= len(lines):
            text, place = _around(lines[self.line - 1], self.column - 1)
            # A tab stays a tab under the text, so that the caret stands where the eye expects it.
            indent = "".join("\t" if c == "\t" else " " for c in text[:place])
            parts += [f"  {text}", f"  {indent}^"]
        if self.hint:
            parts.append(f"  {self.hint}")
        return "\n".join(parts)


WIDEST = 120
"""Characters of a line that an error shows."""


def _around(line: str, place: int) -> tuple[str, int]:
    """The part of a line that is shown, and where the place is in it: a long line is cut on both sides of it."""
    if len(line) <= WIDEST:
        return line, place
    start = max(0, min(place - WIDEST // 2, len(line) - WIDEST))
    head, tail = "…" * (start > 0), "…" * (start + WIDEST < len(line))
    return f"{head}{line[start : start + WIDEST]}{tail}", place - start + len(head)


class CatalogError(PanesError):
    """A stream, table or query is missing, exists already, or is still in use."""


class SourceError(PanesError):
    """A source of a stream cannot be read."""


class ConstraintError(PanesError):
    """A row that a table does not take: a value of another type, NULL, or a primary key that is there already."""


class StateError(PanesError):
    """A file of the database is missing or damaged."""


class EpochGone(PanesError):
    """An instant or an epoch that is no longer kept, or that has not come yet."""


class ChangesGone(EpochGone):
    """A reader of changes came back too late: what it would read next is no longer kept."""


class QueryBegunAnew(ChangesGone):
    """A query was altered, or resumed after it had failed: what a reader of its changes has read before is no part
    of its answer now."""


class WindowMoved(PanesError):
    """Epochs were committed during a read, or a block of reads, that was to see the state as of its end."""


class DatabaseInUse(PanesError):
    """Another process, or another connection of this one, holds the directory."""


class DriverReplaced(PanesError):
    """Another driver has connected to the state location of the database: this one can commit nothing any more."""


class DatabaseClosed(PanesError):
    """The database was used after close()."""


class ReadOnly(PanesError):
    """Something would change the database, and the connection was opened with `read_only=True`."""


class SettingError(PanesError):
    """An unknown setting, or a value that the setting does not take."""


class EnvironmentMissing(PanesError):
    """Something outside Python is needed, such as Java."""


class EvaluationError(PanesError):
    """A value cannot be computed, such as a sum beyond 64 bits."""


class QueryFailed(PanesError):
    """A query failed and is suspended. It has no answer until it is resumed; the others go on."""


class PipelineError(PanesError):
    """An epoch failed in Spark; `details` has what Spark said."""


class InternalError(PanesError):
    """A bug in Panes: an exception that nobody raised on purpose. It is the `__cause__`, and `details` has its
    traceback."""


class PanesWarning(UserWarning):
    """A run went on without something: late or rejected rows, bad files, suspended queries. Or something that was
    declared looks like a mistake."""
