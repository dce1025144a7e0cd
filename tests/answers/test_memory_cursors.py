"""The places of readers that are kept in memory follow the same rules as those in a file."""

from panes.answers.memory_cursors import MemoryCursors


def test_a_reader_moves_on_and_never_back_until_it_is_forgotten():
    cursors = MemoryCursors()
    assert cursors.get(1, "phone") is None
    cursors.move(1, "phone", 5)
    cursors.move(1, "phone", 3)
    cursors.move(1, "desk", 2)
    cursors.move(2, "phone", 9)
    assert (cursors.get(1, "phone"), cursors.of_query(1)) == (5, {"desk": 2, "phone": 5})
    cursors.forget(1, "phone")
    cursors.forget_query(2)
    assert (cursors.of_query(1), cursors.of_query(2)) == ({"desk": 2}, {})
