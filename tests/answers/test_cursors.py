"""Where readers are."""

from panes.answers.cursors import Cursors


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
