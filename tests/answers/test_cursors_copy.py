"""The copy of readers' places: a new driver goes on from it, and no change is left out."""

from __future__ import annotations

from contextlib import closing

import pytest

from panes.answers import cursors_copy
from panes.answers.cursors import Cursors, ReaderPlace
from panes.answers.cursors_copy import Copied, CursorsCopy, read_copy
from panes.errors import StateError
from panes.state.storage.locations import Location, location_of


@pytest.fixture(params=["", "file://"])
def folder(request, tmp_path) -> Location:
    return location_of(f"{request.param}{tmp_path}/readers")


@pytest.fixture
def cursors(tmp_path):
    with closing(Cursors(tmp_path / "readers.sqlite")) as cursors:
        yield cursors


def test_nobody_has_left_a_copy(folder):
    assert read_copy(folder, 7) == Copied([], -1)


def test_places_are_kept_when_they_have_moved(folder, cursors, monkeypatch):
    copy = CursorsCopy(folder, "1-a", cursors)
    copy.begin(-1)
    cursors.move(1, "a", 3)
    cursors.move(2, "b", 9)
    copy.keep(7)
    # An epoch that does not exist any more was read from a driver that was replaced.
    assert read_copy(folder, 7) == Copied([ReaderPlace(1, "a", 3), ReaderPlace(2, "b", 7)], 7)
    monkeypatch.setattr(cursors_copy, "write_record", None)
    copy.keep(8)  # nobody has moved: nothing is written


def test_what_the_caller_was_told_is_kept_at_the_end(folder, cursors):
    copy = CursorsCopy(folder, "1-a", cursors)
    copy.begin(3)
    assert read_copy(folder, 7).told == 3
    copy.keep(4)
    assert read_copy(folder, 7).told == 3
    copy.close()
    assert read_copy(folder, 7).told == 4


def test_what_an_old_driver_writes_does_not_count(folder, cursors):
    old, new = (CursorsCopy(folder, term, cursors) for term in ("1-a", "2-b"))
    old.begin(-1)
    cursors.move(1, "a", 3)
    new.begin(-1)
    cursors.move(1, "a", 5)
    old.keep(0)
    assert read_copy(folder, 7).places == [ReaderPlace(1, "a", 3)]


def test_a_copy_that_cannot_be_written_is_made_up_for(folder, cursors, monkeypatch):
    copy = CursorsCopy(folder, "1-a", cursors)
    copy.begin(-1)
    cursors.move(1, "a", 3)

    def refuse(*_):
        raise StateError("the network is gone")

    with monkeypatch.context() as patched:
        patched.setattr(cursors_copy, "write_record", refuse)
        copy.keep(0)
    copy.keep(0)
    assert read_copy(folder, 7).places == [ReaderPlace(1, "a", 3)]


def test_places_are_taken_over(cursors):
    cursors.put([ReaderPlace(1, "a", 3), ReaderPlace(2, "b", 9)])
    assert cursors.places() == [ReaderPlace(1, "a", 3), ReaderPlace(2, "b", 9)]
    assert cursors.moves == 2


def test_damage_is_told(tmp_path, cursors):
    folder = tmp_path / "copies"
    CursorsCopy(folder, "1-a", cursors).begin(-1)
    (folder / "1-a.json").write_bytes(b"{}")
    with pytest.raises(StateError, match=r"1-a\.json is damaged"):
        read_copy(folder, 7)
