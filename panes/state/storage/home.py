"""The folder in which a database keeps the states and answers of its queries: its own, or one it was told to use.

The choice is made when the database first connects, and kept in its directory. A folder elsewhere must be empty
then, and is marked as this database's: two databases in one folder would remove each other's states.
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from panes.errors import StateError
from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, location_of, names_in
from panes.state.storage.records import read_record, write_record

_CHOICE = "state.json"
"""In the directory of the database: where its states are, and the mark that they carry."""

_MARK = "database.json"
"""In the folder of the states: whose they are."""


def state_home(database: Path, wanted: str | Path | None) -> Location:
    """Where the folders of queries are; `wanted` is a folder or a URI, or None for what was chosen before."""
    choice = database / _CHOICE
    if choice.exists():
        return _chosen(database, choice, wanted)
    if wanted is None:
        return database / "states"
    if any((database / "epochs").glob("epoch-*.json")):
        raise StateError(
            f"{database} already keeps its states itself; connect to it without naming another place for them"
        )
    home = location_of(wanted)
    mark = _new_mark(home, database)
    write_record(home / _MARK, _MARK, {"mark": mark, "database": str(database)})
    write_record(choice, _CHOICE, {"home": str(home), "mark": mark})
    return home


def _chosen(database: Path, choice: Path, wanted: str | Path | None) -> Location:
    content = read_record(choice, _CHOICE).content
    home = location_of(str(content["home"]))
    if wanted is not None and location_of(wanted) != home:
        raise StateError(f"the states of {database} are in {home}, not in {wanted}; leave out state=")
    if read_record(home / _MARK, _MARK).content["mark"] != content["mark"]:
        raise StateError(f"{home} holds the states of another database; restore those of {database} there")
    return home


def _new_mark(home: Location, database: Path) -> str:
    """The mark for a folder that is empty, or was left behind while this database was being made."""
    make_folder(home)
    names = names_in(home)
    if not names:
        return uuid4().hex
    if names == [_MARK]:
        content = read_record(home / _MARK, _MARK).content
        if content["database"] == str(database):
            return str(content["mark"])
    raise StateError(f"{home} is not empty; the states of a database need a folder of their own")
