"""Files that are there wholly or not at all, alone or many at once."""

from __future__ import annotations

import errno
import os

import pytest

from panes.errors import StateError
from panes.state.storage import files
from panes.state.storage.files import flushed_together, write_bytes


@pytest.fixture
def flushed(monkeypatch) -> list[str]:
    """What was flushed, in order, by name."""
    names = []
    flush = os.fsync

    def note(handle):
        names.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        flush(handle)

    monkeypatch.setattr(files.os, "fsync", note)
    return names


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="finds the names of open files through /proc")
def test_a_file_and_its_name_are_flushed_before_the_next_is_written(tmp_path, flushed):
    write_bytes(tmp_path / "a.json", b"a1")
    assert flushed == [f".a.json.{os.getpid()}.tmp", tmp_path.name]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="finds the names of open files through /proc")
def test_files_written_together_are_flushed_when_the_last_is_there(tmp_path, flushed):
    with flushed_together():
        write_bytes(tmp_path / "a.json", b"a1")
        with flushed_together():
            write_bytes(tmp_path / "b.json", b"b2")
        assert flushed == []
        assert (tmp_path / "b.json").read_bytes() == b"b2"
    assert sorted(flushed) == sorted(["a.json", "b.json", tmp_path.name])
    write_bytes(tmp_path / "c.json", b"c3")
    assert len(flushed) == 5


def test_a_flush_that_fails_is_told_with_the_file(tmp_path, monkeypatch):
    def fail(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", fail)
    with (
        pytest.raises(StateError, match=rf"cannot write {tmp_path}/a\.json: No space left"),
        flushed_together(),
    ):
        write_bytes(tmp_path / "a.json", b"a1")
    with pytest.raises(StateError, match=rf"cannot write {tmp_path}/b\.json: No space left"):
        write_bytes(tmp_path / "b.json", b"b1")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_nothing_is_flushed_after_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_flush", lambda paths: pytest.fail(f"flushed {paths}"))

    @flushed_together()
    def write_and_fail():
        write_bytes(tmp_path / "a.json", b"a1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
