"""SQLite files that belong to a database, and notice when they are damaged or another's.

SQLite has no checksums of its own. Such a file keeps one over all of its rows: triggers bring it up to date with
every change, in the same transaction, and it is verified when the file is opened. So are SQLite's own structures,
the schema, and the id of the database that the file belongs to. Whatever SQLite says of a file comes as
StateError.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from panes.errors import CatalogError, StateError

LAYOUT = 9
"""The layout of all files of a database. It is raised when one of an older layout can no longer be read; as it is
part of the schema too, a file of an older layout is told from one whose number is damaged."""

_MASK = (1 << 62) - 1
_SEAL = (
    "CREATE TABLE seal (id INTEGER PRIMARY KEY, database TEXT NOT NULL, checksum INTEGER NOT NULL, "
    f"layout INTEGER NOT NULL DEFAULT {LAYOUT});"
)
_NO_DAMAGE = (
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_READONLY",
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_CANTOPEN",
)
"""How the names of SQLite's errors begin that say nothing against the file."""
_WHAT_TO_DO = "restore it from a copy (`panes check` says what can still be answered)"


Change: TypeAlias = tuple[str, Sequence[Any]]
"""A statement that has changed rows, and its values."""


class Copy(Protocol):
    """Who keeps the changes of a file elsewhere too. `content` gives all of the file."""

    def prepare(self, content: Callable[[], bytes]) -> None:
        """A transaction is about to begin."""

    def add(self, changes: Sequence[Change]) -> None:
        """The changes of a transaction that is about to count; it does not if this raises."""

    def doubt(self) -> None:
        """The last transaction does not count, though it was added or may have been."""

    def settle(self, content: Callable[[], bytes]) -> None:
        """The transaction counts."""


class SqliteFile:
    """A file with the tables of a schema, for any number of threads.

    It is made whole under another name first, so one that is not whole is damaged.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        *,
        database: str,
        must_exist: bool = False,
        read_only: bool = False,
        is_durable: bool = True,
    ) -> None:
        """`database` is the id that a new file gets; `must_exist` says that there must be one already. With
        `is_durable` a change is safe from a failure of the machine when it returns."""
        self.path = path
        self._lock = threading.RLock()
        self._copy: Copy | None = None
        self._changes: list[Change] = []
        """Those of the transaction under way."""
        self._rows_changed: Counter[str] = Counter()
        """How many rows of each table have changed here."""
        self._rolled_back = 0
        if not path.exists():
            if must_exist or read_only:
                raise StateError(f"{path} is missing: the database is damaged; {_WHAT_TO_DO}")
            with _explained(path):
                _make(path, schema, database)
        with _explained(path):
            self._connection = _connect(path, read_only=read_only)
        self._connection.create_function("row_checksum", -1, self._noted_checksum, deterministic=True)
        try:
            with _explained(path):
                self.database = self._verified(schema)
                if not read_only:
                    self._connection.execute("PRAGMA journal_mode=WAL")
                    self._connection.execute(f"PRAGMA synchronous={'FULL' if is_durable else 'NORMAL'}")
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        with self._lock, _explained(self.path):
            self._connection.close()

    def select(self, sql: str, *values: Any) -> list[Any]:
        with self._lock, _explained(self.path), closing(self._connection.execute(sql, values)) as cursor:
            return cursor.fetchall()

    def execute(self, sql: str, *values: Any, is_copied: bool = True) -> int:
        """Makes a change; gives how many rows it concerned. What is not copied can be found again."""
        with self._lock:
            if self._copy is not None and not self._connection.in_transaction:
                with self.transaction():
                    return self.execute(sql, *values, is_copied=is_copied)
            rows = self._run(sql, *values)
            if rows > 0 and is_copied and self._copy is not None:
                self._changes.append((sql, values))
            return rows

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes inside count together, or none does. One inside of another is a part of it."""
        with self._lock:
            if self._connection.in_transaction:
                yield
                return
            if self._copy is not None:
                self._copy.prepare(self.content)
            self._run("BEGIN IMMEDIATE")
            try:
                yield
                self._commit()
            except BaseException:
                # A full disk ends a transaction by itself.
                self._rolled_back += 1
                if self._connection.in_transaction:
                    self._run("ROLLBACK")
                raise
            finally:
                self._changes = []
            if self._copy is not None:
                self._copy.settle(self.content)

    def _commit(self) -> None:
        if self._copy is None or not self._changes:
            self._run("COMMIT")
            return
        try:
            self._copy.add(self._changes)
            self._run("COMMIT")
        except BaseException:
            self._copy.doubt()
            raise

    def version(self, *tables: str) -> tuple[int, ...]:
        """Another one whenever rows of these tables may have changed, here or by another connection."""
        with self._lock:
            ((others,),) = self.select("PRAGMA data_version")
            return *(self._rows_changed[table] for table in tables), self._rolled_back, int(others)

    def _noted_checksum(self, table: str, *values: Any) -> int:
        """The checksum of a row that comes or goes: triggers ask for it at every change."""
        self._rows_changed[table] += 1
        return _row_checksum(table, *values)

    def copied_to(self, copy: Copy) -> None:
        """Has all changes from now on kept elsewhere too, each before it counts."""
        with self._lock:
            self._copy = copy

    def content(self) -> bytes:
        """All of the file, as it is at this moment."""
        with self._lock, _explained(self.path):
            return self._connection.serialize()

    def _run(self, sql: str, *values: Any) -> int:
        with _explained(self.path), closing(self._connection.execute(sql, values)) as cursor:
            return cursor.rowcount

    def _verified(self, schema: str) -> str:
        """The id of the database that the file belongs to, when all of it is as it was written."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute("BEGIN")  # of one moment, whatever another process does
            try:
                (layout,) = cursor.execute("PRAGMA user_version").fetchone()
                if not cursor.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
                    raise _damaged(self.path, "it is empty")
                if layout != LAYOUT and not _is_ours(cursor, schema):
                    raise StateError(
                        f"{self.path} is of layout {layout}, and this version of Panes reads layout {LAYOUT}: "
                        "open the database with the version that made it, or make a new one from the sources; if "
                        f"it was made by this version, the file is damaged: {_WHAT_TO_DO}"
                    )
                if layout != LAYOUT or not _is_ours(cursor, schema):
                    raise _damaged(self.path, "its schema is another")
                (found,) = cursor.execute("PRAGMA integrity_check(1)").fetchone()
                if found != "ok":
                    raise _damaged(self.path, " ".join(str(found).split()))
                seals = cursor.execute("SELECT database, checksum FROM seal").fetchall()
                if len(seals) != 1 or seals[0][1] != _sum_of_rows(cursor, schema, seals[0][0]):
                    raise _damaged(self.path, "its checksum does not fit its rows")
                if "AUTOINCREMENT" in schema:
                    _check_numbers(cursor, self.path)
            finally:
                cursor.execute("ROLLBACK")
        return str(seals[0][0])


def _connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    mode = "ro" if read_only else "rw"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    connection.create_function("row_checksum", -1, _row_checksum, deterministic=True)
    return connection


def _make(path: Path, schema: str, database: str) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    unfinished.unlink(missing_ok=True)
    unfinished.touch()
    try:
        with closing(_connect(unfinished)) as connection:
            connection.executescript(
                f"BEGIN; {_SEAL} {schema} {_triggers(schema)} PRAGMA user_version = {LAYOUT}; "
                "INSERT INTO seal (id, database, checksum) "
                f"VALUES (1, '{database}', {_row_checksum('seal', database)}); COMMIT;"
            )
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@cache
def _tables(schema: str) -> dict[str, tuple[str, ...]]:
    """The tables of a schema and their columns, in quotes: `join` is one of them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        return {
            name: tuple(
                f'"{column[1]}"' for column in connection.execute(f"PRAGMA table_info({name})").fetchall()
            )
            for (name,) in names
        }


@cache
def _triggers(schema: str) -> str:
    """The triggers that keep the checksum."""
    made = []
    for table, columns in _tables(schema).items():
        new, old = (
            f"row_checksum('{table}', {', '.join(f'{row}.{column}' for column in columns)})"
            for row in ("NEW", "OLD")
        )
        for event, change in (
            ("INSERT", f"+ {new}"),
            ("DELETE", f"- {old}"),
            ("UPDATE", f"- {old} + {new}"),
        ):
            made.append(
                f"CREATE TRIGGER {table}_{event.lower()} AFTER {event} ON {table} BEGIN "
                f"UPDATE seal SET checksum = (checksum {change}) & {_MASK}; END;"
            )
    return " ".join(made)


@cache
def _objects(schema: str) -> frozenset[tuple[Any, ...]]:
    """What SQLite's own table of tables has for a schema."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("row_checksum", -1, _row_checksum, deterministic=True)
        connection.executescript(f"{_SEAL} {schema} {_triggers(schema)}")
        return frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())


def _is_ours(cursor: sqlite3.Cursor, schema: str) -> bool:
    found = cursor.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return frozenset(found) == _objects(schema)


def _check_numbers(cursor: sqlite3.Cursor, path: Path) -> None:
    """The next number of a table must be a new one."""
    for table, last in cursor.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
        known = cursor.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchall()
        if not known or not isinstance(last, int):
            raise _damaged(path, "its table of numbers is another")
        (greatest,) = cursor.execute(f"SELECT max(rowid) FROM {table}").fetchone()
        if last < (greatest or 0):
            raise _damaged(path, f"a number of {table} would be given twice")


def _sum_of_rows(cursor: sqlite3.Cursor, schema: str, database: str) -> int:
    total = _row_checksum("seal", database)
    for table, columns in _tables(schema).items():
        for row in cursor.execute(f"SELECT {', '.join(columns)} FROM {table} NOT INDEXED"):
            total += _row_checksum(table, *row)
    return total & _MASK


def _row_checksum(*values: Any) -> int:
    digest = hashlib.blake2b(repr(values).encode("utf-8", "backslashreplace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") & _MASK >> 1


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Whatever SQLite says of a file, in a sentence that names it."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a mistake in Panes, or a connection that was closed
    except UnicodeEncodeError as error:
        raise CatalogError(
            f"{error.object!r} has a character that is no text, half of a surrogate pair: no name has one"
        ) from error
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        if str(getattr(error, "sqlite_errorname", "")).startswith(_NO_DAMAGE):
            raise StateError(
                f"{path} cannot be used: {error}; nothing is lost: see that there is space and that the file can "
                "be read and written, then try again"
            ) from error
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, reason: str) -> StateError:
    return StateError(f"{path} is damaged ({reason}); {_WHAT_TO_DO}")
