"""Letting all readers of a database begin anew, when the file that says how far they had come is lost."""

from __future__ import annotations

import fcntl
from contextlib import closing
from pathlib import Path

from panes.answers.cursors_copy import forget_places
from panes.catalog import Catalog, check_there
from panes.errors import DatabaseInUse
from panes.state.storage.home import home_of


def forget_readers(database: Path) -> None:
    """Removes the places of all readers: each then begins with the whole answer. Refused while it is in use."""
    check_there(database / "catalog.sqlite")
    with (database / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DatabaseInUse(
                f"{database} is in use by another connection; close that one first"
            ) from error
        with closing(Catalog(database / "catalog.sqlite")) as catalog:
            catalog.marks.note_readers(are_there=False)
        for name in ("readers.sqlite", "readers.sqlite-wal", "readers.sqlite-shm"):
            (database / name).unlink(missing_ok=True)
        home = home_of(database, None)
        if home.is_elsewhere:
            forget_places(home.location / "readers")
