"""Single numbers that the catalog keeps: above all, how far the epochs have come."""

from __future__ import annotations

from panes.sqlite_file import SqliteFile

_BEGUN, _COMMITTED, _HAS_READERS = "last epoch begun", "last epoch known to be committed", "has readers"
_LAST_NUMBER, _CORES = "last number of a query or group", "cores of the cluster"


class Marks:
    """The table of marks in the file of the catalog. How far the epochs have come is in no copy of the catalog:
    whoever makes it again knows it from the epochs."""

    SCHEMA = "CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL);"

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    @property
    def last_begun(self) -> int:
        """The last epoch that was begun; -1 before the first. There can be no later one."""
        return self._value(_BEGUN)

    @property
    def last_committed(self) -> int:
        """The last epoch that is known to have been committed; -1 before the first. It must be there."""
        return self._value(_COMMITTED)

    @property
    def has_readers(self) -> bool:
        """Whether the file with the places of readers has been made."""
        return self._value(_HAS_READERS) == 1

    @property
    def cores(self) -> int | None:
        """The number of cores that the cluster of the last epoch had; None when no epoch has begun."""
        cores = self._value(_CORES)
        return None if cores < 0 else cores

    @property
    def next_number(self) -> int:
        """The number that the next query or group gets: none of them has had it."""
        return max(0, self._value(_LAST_NUMBER)) + 1

    def begin_epoch(self, epoch: int) -> None:
        """Notes that an epoch begins, and so that the one before it was committed."""
        if epoch != self.last_begun:
            self._set(_BEGUN, epoch, is_copied=False)
            self._set(_COMMITTED, epoch - 1, is_copied=False)

    def note_committed(self, epoch: int) -> None:
        """Notes that an epoch was committed; the next one that begins does so too."""
        if epoch > self.last_committed:
            self._set(_COMMITTED, epoch, is_copied=False)

    def note_epochs(self, last: int) -> None:
        """Notes which epoch is the last: whoever makes a catalog again knows it from the epochs."""
        with self._file.transaction():
            self._set(_BEGUN, last, is_copied=False)
            self._set(_COMMITTED, last, is_copied=False)

    def note_readers(self, *, are_there: bool = True) -> None:
        """Notes whether the file with the places of readers is there."""
        if are_there != self.has_readers:
            self._set(_HAS_READERS, int(are_there))

    def note_cores(self, cores: int) -> None:
        """Notes the number of cores of the cluster."""
        if cores != self.cores:
            self._set(_CORES, cores)

    def take_number(self) -> int:
        """A number that no query and no group has had, and that none gets after this."""
        number = self.next_number
        self._set(_LAST_NUMBER, number)
        return number

    def _value(self, name: str) -> int:
        rows = self._file.select("SELECT value FROM marks WHERE name = ?", name)
        return int(rows[0][0]) if rows else -1

    def _set(self, name: str, value: int, *, is_copied: bool = True) -> None:
        set_value = "INSERT INTO marks VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
        self._file.execute(set_value, name, value, is_copied=is_copied)
