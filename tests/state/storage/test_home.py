"""Where a database keeps what matters: chosen once, for one database alone."""

from __future__ import annotations

import pytest

from panes.errors import StateError
from panes.state.storage.home import CHOICE, Home, home_of
from panes.state.storage.locations import UriPath


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "db").mkdir()
    return tmp_path / "db"


def test_the_directory_is_the_home_unless_said_otherwise(folder):
    for wanted in (None, folder):
        home = home_of(folder, wanted)
        assert home == Home(folder)
        assert not home.is_elsewhere
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_the_place_is_remembered(folder, tmp_path, scheme):
    place = f"{scheme}{tmp_path}/states"
    home = home_of(folder, place)
    assert home.location == (UriPath(place) if scheme else tmp_path / "states")
    assert home.is_elsewhere
    (tmp_path / "states" / "epochs").mkdir()
    assert home_of(folder, None) == home
    assert home_of(folder, place) == home
    with pytest.raises(StateError, match=f"are in {place}, not in elsewhere"):
        home_of(folder, "elsewhere")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_another_folder_goes_on_with_the_database_that_is_there(folder, tmp_path, scheme):
    place = f"{scheme}{tmp_path}/states"
    home = home_of(folder, place)
    other = tmp_path / "other"
    other.mkdir()
    assert home_of(other, place) == home


def test_a_folder_does_not_go_on_with_another_database(folder, tmp_path):
    home_of(folder, tmp_path / "states")
    (tmp_path / "states").rename(tmp_path / "moved")
    other = tmp_path / "other"
    other.mkdir()
    home_of(other, tmp_path / "states")
    with pytest.raises(StateError, match="states holds another database"):
        home_of(folder, None)


def test_a_place_with_something_else_in_it_is_refused(folder, tmp_path):
    (tmp_path / "states").mkdir()
    (tmp_path / "states" / "thesis.tex").touch()
    with pytest.raises(StateError, match="states is not empty, and holds no database"):
        home_of(folder, tmp_path / "states")


def test_a_place_that_cannot_be_reached_is_told(folder, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="file cannot be reached: Not a directory"):
        home_of(folder, tmp_path / "file")
    assert list(folder.iterdir()) == []


def test_a_crash_before_the_choice_was_kept_does_not_block_the_place(folder, tmp_path):
    home = home_of(folder, tmp_path / "states")
    (folder / CHOICE).unlink()
    assert home_of(folder, tmp_path / "states") == home


def test_a_place_that_has_vanished_is_told(folder, tmp_path):
    home_of(folder, tmp_path / "states")
    (tmp_path / "states" / "database.json").unlink()
    with pytest.raises(StateError, match=r"database\.json is missing"):
        home_of(folder, None)


def test_a_database_that_is_its_own_home_does_not_move(folder):
    with pytest.raises(StateError, match="already keeps its states itself"):
        home_of(folder, "elsewhere", is_fresh=False)
