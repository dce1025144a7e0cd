"""Where readers are."""

import pytest

from panes.answers.cursors import Cursors
from panes.errors import StateError


def test_readers_of_different_queries_have_nothing_to_do_with_each_other(tmp_path):
    cursors = Cursors(tmp_path / "readers.sqlite")
    cursors.move(1, "phone", 4)
    cursors.move(2, "phone", 9)
    cursors.move(2, "desk", 0)
    assert (cursors.get(1, "phone"), cursors.get(1, "desk")) == (4, None)
    assert cursors.of_query(2) == {"desk": 0, "phone": 9}
    cursors.forget_query(2)
    cursors.forget(1, "desk")
    assert (cursors.of_query(1), cursors.of_query(2)) == ({"phone": 4}, {})
    cursors.close()


def test_a_cursor_never_moves_back(tmp_path):
    cursors = Cursors(tmp_path / "readers.sqlite")
    cursors.move(1, "phone", 4)
    cursors.move(1, "phone", 2)
    assert cursors.get(1, "phone") == 4
    cursors.close()


def test_cursors_are_still_there_after_reopening(tmp_path):
    cursors = Cursors(tmp_path / "readers.sqlite")
    cursors.move(1, "phone", 4)
    cursors.close()
    again = Cursors(tmp_path / "readers.sqlite")
    assert again.of_query(1) == {"phone": 4}
    again.close()


def test_places_that_are_lost_are_not_begun_anew_in_silence(tmp_path):
    with pytest.raises(StateError, match=r"readers\.sqlite is missing: .* panes check --forget-readers"):
        Cursors(tmp_path / "readers.sqlite", "this", must_exist=True)


def test_places_of_another_database_are_refused(tmp_path):
    Cursors(tmp_path / "readers.sqlite", "that").close()
    with pytest.raises(StateError, match=r"readers\.sqlite belongs to another database"):
        Cursors(tmp_path / "readers.sqlite", "this")


def test_the_furthest_place_of_all_readers_is_known(tmp_path):
    cursors = Cursors(tmp_path / "readers.sqlite")
    assert cursors.furthest() == -1
    cursors.move(1, "a", 4)
    cursors.move(2, "b", 7)
    assert cursors.furthest() == 7
    cursors.close()
