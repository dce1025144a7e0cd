"""The copy of readers' places in a home elsewhere.

It is written at most once per epoch, so a driver that is lost may leave a copy that is older than what its readers
have read: some changes then come again, and none is left out.
"""

from __future__ import annotations

from contextlib import suppress

from panes.answers.cursors import Cursors, ReaderPlace
from panes.errors import StateError
from panes.state.storage.files import make_folder
from panes.state.storage.locations import Location, names_in
from panes.state.storage.records import damaged, read_record, write_record


class CursorsCopy:
    """The copy that one driver writes, under its term."""

    def __init__(self, folder: Location, term: str, cursors: Cursors) -> None:
        self._folder = folder
        self._term = term
        self._cursors = cursors
        self._moves = -1
        """How many moves the copy has."""

    def begin(self) -> None:
        """Takes over from the driver before: what that one writes does not count from now on."""
        self._write()
        for name in names_in(self._folder):
            if name < _file(self._term):
                (self._folder / name).unlink(missing_ok=True)

    def keep(self) -> None:
        """Brings the copy up to date. Should that fail, the next one makes up for it."""
        if self._moves != self._cursors.moves:
            with suppress(StateError):
                self._write()

    def _write(self) -> None:
        moves = self._cursors.moves
        make_folder(self._folder)
        content = {"places": self._cursors.places()}
        write_record(self._folder / _file(self._term), _name(self._term), content)
        self._moves = moves


def read_places(folder: Location, last_epoch: int) -> list[ReaderPlace]:
    """The places in the copy of the last driver that left one; nobody has read an epoch after the last."""
    name = max(names_in(folder), default=None)
    if name is None:
        return []
    content = read_record(folder / name, _name(name.removesuffix(".json"))).content
    try:
        return [
            ReaderPlace(query, reader, min(epoch, last_epoch)) for query, reader, epoch in content["places"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(folder / name, f"not the places of readers: {error}") from error


def _file(term: str) -> str:
    return f"{term}.json"


def _name(term: str) -> str:
    return f"readers in term {term}"
