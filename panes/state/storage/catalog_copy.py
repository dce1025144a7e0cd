"""The copy of the catalog in a home elsewhere: a journal of its transactions.

A change of the catalog is in the copy before it is in the catalog. So whoever loses the working folder, or comes
with another one, makes the catalog again with all that was ever promised. How far the epochs have come is left
out: it changes with every epoch, and the epochs know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from panes.catalog import Catalog
from panes.errors import StateError
from panes.sqlite_file import Change
from panes.state.storage.files import write_bytes
from panes.state.storage.journal import Journal, read_last
from panes.state.storage.locations import Location
from panes.state.storage.terms import Term


class CatalogCopy:
    """What a catalog tells of its changes."""

    def __init__(self, folder: Location, term: Term) -> None:
        self._term = term
        self._journal = Journal(folder, term.name)

    def begin(self, content: bytes) -> None:
        """Takes over from the driver before: what that one adds to its own part does not count from now on."""
        end = self._journal.begin(content)
        self._term.check()
        self._journal.forget_before(end)

    def prepare(self, content: Callable[[], bytes]) -> None:
        """Before a transaction: makes good for one of which nobody knows whether it is in the copy."""
        if self._journal.is_broken:
            self._journal.begin(content())

    def add(self, changes: Sequence[Change]) -> None:
        """Keeps the changes of a transaction, just before it counts. Raises when another driver has taken over: it
        has not seen them, or will never count them here."""
        self._journal.add({"changes": [[sql, list(values)] for sql, values in changes]})
        self._term.check()

    def doubt(self) -> None:
        """The transaction does not count, though it may be in the copy."""
        self._journal.doubt()

    def settle(self, content: Callable[[], bytes]) -> None:
        """After a transaction: begins with a new base when that is worth it. It may as well be done later."""
        if self._journal.is_due:
            with suppress(StateError):
                self._journal.forget_before(self._journal.begin(content()))


def restore_catalog(folder: Location, path: Path) -> bool:
    """Makes the catalog again in a file; False when there is no copy, and so no catalog."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    written = read_last(folder)
    if written is None:
        return False
    write_bytes(path, written.base)
    with closing(Catalog(path)) as catalog:
        catalog.replay([(sql, values) for entry in written.entries for sql, values in entry["changes"]])
    return True
