"""The home of a database: the folder or URI under which lies everything that matters.

It is the directory of the database itself, or a place that it was told to use when it was made. The choice is kept
in the directory, which is then the working folder of whoever runs the database, and can be lost. A home elsewhere
says which database it holds: nothing else may lie there, and no other database goes on with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from panes.errors import StateError
from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, location_of, names_in
from panes.state.storage.records import read_record, write_record

CHOICE = "state.json"
"""In the working folder: where the home is, and which database it holds."""

_MARK = "database.json"
"""In a home elsewhere: the id of the database."""


@dataclass(frozen=True)
class Home:
    location: Location
    database: str | None = None
    """The id of the database, where the home says it; None where the catalog does, beside which it lies."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is not the working folder."""
        return self.database is not None


def home_of(folder: Path, wanted: str | Path | None, *, is_fresh: bool = True) -> Home:
    """The home of the database whose working folder this is; `wanted` is a folder or a URI, or None for what was
    chosen before. `is_fresh` says that the folder holds nothing of a database that is its own home."""
    choice = folder / CHOICE
    if choice.exists():
        return _chosen(folder, choice, wanted)
    if wanted is None or location_of(wanted) == folder:
        return Home(folder)
    if not is_fresh:
        raise StateError(
            f"{folder} already keeps its states itself; connect to it without naming another place for them"
        )
    home = location_of(wanted)
    database = _known(home) or _marked(home)
    write_record(choice, CHOICE, {"home": str(home), "database": database})
    return Home(home, database)


def _chosen(folder: Path, choice: Path, wanted: str | Path | None) -> Home:
    content = read_record(choice, CHOICE).content
    home, database = location_of(str(content["home"])), str(content["database"])
    if wanted is not None and location_of(wanted) != home:
        raise StateError(
            f"the states of {folder} are in {home}, not in {wanted}; leave out state=, or name a new folder to go "
            f"on with the database in {wanted}"
        )
    if _marked_as(home) != database:
        raise StateError(
            f"{home} holds another database than the one that {folder} was working for; name a new folder to go "
            f"on with the one in {home}, or restore what was there"
        )
    return Home(home, database)


def _known(home: Location) -> str | None:
    """The id of the database that a place holds; None when it is empty."""
    try:
        names = names_in(home)
    except OSError as error:
        raise StateError(
            f"{home} cannot be reached: {error.strerror or error}; see that the place is right, that the file "
            "system answers, and that this process has the rights and credentials for it"
        ) from error
    if _MARK in names:
        return _marked_as(home)
    if names:
        raise StateError(f"{home} is not empty, and holds no database; name an empty or a new place")
    return None


def _marked(home: Location) -> str:
    """Makes an empty place the home of a new database; gives its id."""
    database = uuid4().hex
    make_folder(home)
    write_record(home / _MARK, _MARK, {"database": database})
    return database


def _marked_as(home: Location) -> str:
    return str(read_record(home / _MARK, _MARK).content["database"])
