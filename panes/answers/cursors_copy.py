"""The copy in a home elsewhere of how far readers have come, and of which epochs the caller of a run was told.

It is written at most once per epoch, so a driver that is lost may leave a copy that is older than what its readers
have read: some changes then come again, and none is left out.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from panes.answers.cursors import Cursors, ReaderPlace
from panes.errors import StateError
from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, names_in, remove_tree
from panes.state.storage.records import damaged, read_record, write_record

_NO_TERM = "00000000"
"""Before the first term."""


class Copied(NamedTuple):
    """What a driver has left."""

    places: list[ReaderPlace]
    told: int
    """The last epoch of which the caller of a run was told."""


class CursorsCopy:
    """The copy that one driver writes, under its term."""

    def __init__(self, folder: Location, term: str, cursors: Cursors) -> None:
        self._folder = folder
        self._term = term
        self._cursors = cursors
        self._told = -1
        self._kept = -1, -1
        """How many moves the copy has, and what was told."""

    def begin(self, told: int) -> None:
        """Takes over from the driver before: what that one writes does not count from now on."""
        self._told = told
        self._write()
        for name in names_in(self._folder):
            if name < _file(self._term):
                (self._folder / name).unlink(missing_ok=True)

    def keep(self, told: int) -> None:
        """After an epoch: brings the copy up to date if readers have moved; after a failure the next does."""
        self._told = told
        if self._kept[0] != self._cursors.moves:
            with suppress(StateError):
                self._write()

    def close(self) -> None:
        """Brings the copy up to date for whoever connects next."""
        if self._kept != (self._cursors.moves, self._told):
            with suppress(StateError):
                self._write()

    def _write(self) -> None:
        kept = self._cursors.moves, self._told
        make_folder(self._folder)
        content = {"places": self._cursors.places(), "told": self._told}
        write_record(self._folder / _file(self._term), _name(self._term), content)
        self._kept = kept


def read_copy(folder: Location, last_epoch: int, *, must_exist: bool = False) -> Copied:
    """The copy of the last driver that left one; nobody has read an epoch after the last. `must_exist` says that
    there was one before."""
    name = max(names_in(folder), default=None)
    if name is None and must_exist:
        raise StateError(
            f"{folder} is missing or empty: it said how far each reader of changes had come; restore it from a "
            "copy, or let all readers begin anew with: panes check --forget-readers and the working folder"
        )
    if name is None:
        return Copied([], -1)
    content = read_record(folder / name, _name(name.removesuffix(".json"))).content
    try:
        found = [ReaderPlace(*place) for place in content["places"]]
        places = [place._replace(epoch=min(place.epoch, last_epoch)) for place in found]
        return Copied(places, int(content["told"]))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(folder / name, f"not the places of readers: {error}") from error


def forget_places(folder: Location) -> None:
    """Lets all readers begin anew."""
    remove_tree(folder)
    make_folder(folder)
    write_record(folder / _file(_NO_TERM), _name(_NO_TERM), {"places": [], "told": -1})


def _file(term: str) -> str:
    return f"{term}.json"


def _name(term: str) -> str:
    return f"readers in term {term}"
