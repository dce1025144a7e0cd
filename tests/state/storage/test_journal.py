"""A journal: what was added is read again, in order and whole, at a cost that follows the changes."""

from __future__ import annotations

import pytest

from panes.errors import StateError
from panes.state.storage import journal as journal_module
from panes.state.storage.journal import Journal, Position, Written, parts_in, read_last, read_to
from panes.state.storage.locations import Location, location_of


@pytest.fixture(params=["", "file://"])
def folder(request, tmp_path) -> Location:
    return location_of(f"{request.param}{tmp_path}/journal")


def test_nothing_was_written(folder):
    assert read_last(folder) is None


def test_a_base_and_what_came_after_it(folder):
    journal = Journal(folder, "1-a")
    assert journal.is_broken
    first = journal.begin(b"base")
    assert not journal.is_due
    second = journal.add({"n": 1})
    journal.add({"n": 2})
    assert read_last(folder) == Written(b"base", [{"n": 1}, {"n": 2}])
    assert read_to(folder, first) == Written(b"base", [])
    assert read_to(folder, Position.of(str(second))) == Written(b"base", [{"n": 1}])


def test_a_new_base_stands_for_all_before_it(folder):
    journal = Journal(folder, "1-a")
    journal.begin(b"one")
    journal.add({"n": 1})
    journal.forget_before(journal.begin(b"two"))
    journal.add({"n": 2})
    assert read_last(folder) == Written(b"two", [{"n": 2}])
    assert parts_in(folder) == ["1-a-000001"]


def test_what_an_old_driver_adds_does_not_count_once_another_has_begun(folder):
    old, new = Journal(folder, "1-a"), Journal(folder, "2-b")
    old.begin(b"old")
    old.add({"n": 1})
    new.forget_before(new.begin(b"new"))
    old.begin(b"old again")
    old.add({"n": 2})
    assert read_last(folder) == Written(b"new", [])


def test_parts_that_are_still_pinned_stay(folder):
    journal = Journal(folder, "1-a")
    pinned = journal.begin(b"one")
    journal.begin(b"two")
    journal.forget_before(pinned)
    assert read_to(folder, pinned) == Written(b"one", [])


def test_an_entry_of_which_nobody_knows_whether_it_was_stored_is_followed_by_a_new_base(folder, monkeypatch):
    journal = Journal(folder, "1-a")
    journal.begin(b"one")

    def refuse(*_):
        raise StateError("the network is gone")

    with monkeypatch.context() as patched:
        patched.setattr(journal_module, "write_record", refuse)
        with pytest.raises(StateError):
            journal.add({"n": 1})
    assert journal.is_broken
    journal.begin(b"two")
    journal.add({"n": 2})
    journal.doubt()
    assert journal.is_broken
    journal.begin(b"three")
    assert read_last(folder) == Written(b"three", [])


def test_the_bytes_that_are_written_follow_the_changes_and_those_that_are_read_are_bounded(tmp_path):
    journal, written, most = Journal(tmp_path, "1-a"), 0, 0
    content = b""
    for number in range(600):
        if journal.is_due:
            written += len(content)
            journal.forget_before(journal.begin(content))
        entry = f"{number:02000d}"
        content += entry.encode()
        journal.add({"n": entry})
        most = max(most, len(list(tmp_path.glob("*/*"))))
    assert written < 10 * len(content)
    assert most < 300
    last = read_last(tmp_path)
    assert last is not None
    assert last.base + "".join(entry["n"] for entry in last.entries).encode() == content


def test_damage_is_told(tmp_path):
    journal = Journal(tmp_path, "1-a")
    journal.begin(b"base")
    for number in range(3):
        journal.add({"n": number})
    part = tmp_path / "1-a-000000"
    second, third = part / "0000000002", part / "0000000003"
    content = second.read_bytes()
    second.unlink()
    with pytest.raises(StateError, match="0000000002 is missing"):
        read_last(tmp_path)
    second.write_bytes(third.read_bytes())
    with pytest.raises(StateError, match="0000000002 is another record"):
        read_last(tmp_path)
    second.write_bytes(content)
    other = Journal(tmp_path / "other", "1-a")
    other.begin(b"other")
    third.unlink()
    for _ in range(3):
        other.add({"n": 9})
    third.write_bytes((tmp_path / "other" / "1-a-000000" / "0000000003").read_bytes())
    with pytest.raises(StateError, match="it does not follow the one before it"):
        read_last(tmp_path)
