"""Where a database keeps its states: chosen once, for one database alone."""

from __future__ import annotations

import pytest

from panes.errors import StateError
from panes.state.storage.home import state_home
from panes.state.storage.locations import UriPath
from panes.state.storage.records import write_record


@pytest.fixture
def database(tmp_path):
    folder = tmp_path / "db"
    (folder / "epochs").mkdir(parents=True)
    return folder


def test_states_are_in_the_directory_of_the_database_unless_said_otherwise(database):
    assert state_home(database, None) == database / "states"
    assert list(database.iterdir()) == [database / "epochs"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_the_place_is_remembered(database, tmp_path, scheme):
    place = f"{scheme}{tmp_path}/states"
    home = state_home(database, place)
    assert home == (UriPath(place) if scheme else tmp_path / "states")
    (tmp_path / "states" / "000001").mkdir()
    assert state_home(database, None) == home
    assert state_home(database, place) == home
    with pytest.raises(StateError, match=f"are in {place}, not in elsewhere"):
        state_home(database, "elsewhere")


def test_two_databases_do_not_share_a_place(database, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    state_home(database, tmp_path / "states")
    with pytest.raises(StateError, match="states is not empty"):
        state_home(other, tmp_path / "states")
    write_record(other / "state.json", "state.json", {"home": str(tmp_path / "states"), "mark": "another"})
    with pytest.raises(StateError, match="states holds the states of another database"):
        state_home(other, None)


def test_a_crash_before_the_choice_was_kept_does_not_block_the_place(database, tmp_path):
    state_home(database, tmp_path / "states")
    (database / "state.json").unlink()
    assert state_home(database, tmp_path / "states") == tmp_path / "states"


def test_a_place_that_has_vanished_is_told(database, tmp_path):
    state_home(database, tmp_path / "states")
    (tmp_path / "states" / "database.json").unlink()
    with pytest.raises(StateError, match=r"database\.json is missing"):
        state_home(database, None)


def test_a_database_that_has_states_does_not_move_them(database):
    (database / "epochs" / "epoch-0000000000.json").write_text("")
    with pytest.raises(StateError, match="already keeps its states itself"):
        state_home(database, "elsewhere")
