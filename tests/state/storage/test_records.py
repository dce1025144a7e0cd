"""Records notice whatever happens to them."""

from __future__ import annotations

import pytest

from panes.errors import StateError
from panes.state.storage.records import FIRST, read_links, read_record, write_record

CONTENT = {"clock": 12_000_000, "names": ["a", "ä"]}


def test_a_record_comes_back_with_its_checksum_and_its_place_in_the_chain(tmp_path):
    first = write_record(tmp_path / "1.json", "one", CONTENT)
    second = write_record(tmp_path / "2.json", "two", {}, before=first)
    found = read_record(tmp_path / "1.json", "one", first)
    assert (found.content, found.checksum, found.before) == (CONTENT, first, FIRST)
    assert read_links(tmp_path / "2.json", "two", second) == (second, first)


def test_every_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "1.json"
    write_record(path, "one", CONTENT)
    content = path.read_bytes()
    for place in range(len(content)):
        for change in (1, 32, 128):
            path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
            with pytest.raises(StateError, match=r"1\.json is damaged .*; restore it from a copy"):
                read_record(path, "one")


@pytest.mark.parametrize("size", [0, 1, 20, -1])
def test_a_truncated_record_is_damaged(tmp_path, size):
    path = tmp_path / "1.json"
    write_record(path, "one", CONTENT)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StateError, match=r"1\.json is damaged"):
        read_record(path, "one")


def test_a_missing_record_is_named(tmp_path):
    with pytest.raises(StateError, match=r"1\.json is missing"):
        read_record(tmp_path / "1.json", "one")


def test_a_record_in_the_place_of_another_is_refused(tmp_path):
    write_record(tmp_path / "1.json", "two", CONTENT)
    with pytest.raises(StateError, match=r"1\.json is another record: 'two', and not 'one'"):
        read_record(tmp_path / "1.json", "one")


def test_a_record_that_is_whole_but_not_the_pinned_one_is_refused(tmp_path):
    pinned = write_record(tmp_path / "1.json", "one", CONTENT)
    write_record(tmp_path / "1.json", "one", {**CONTENT, "clock": 13_000_000})
    with pytest.raises(StateError, match=rf"1\.json is not the record that belongs here.*{pinned}"):
        read_record(tmp_path / "1.json", "one", pinned)
