"""Spark's checkpoint, read without Spark."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from panes.errors import StateError
from panes.state.storage.checkpoint import Checkpoint

OFFSETS = 'v2\n{"batchTimestampMs":1}\nstream1:{"logOffset":2}\nstream2:17\n'


def with_checksums(path: Path, content: str, step: int = 16) -> Path:
    """Writes a file as Hadoop does, with its checksums beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    sums = [zlib.crc32(content.encode()[begin : begin + step]) for begin in range(0, len(content), step)]
    packed = b"crc\0" + struct.pack(f">I{len(sums)}I", step, *sums)
    path.with_name(f".{path.name}.crc").write_bytes(packed)
    return path


def test_offsets_of_files_are_found_and_others_are_not_of_files(tmp_path):
    with_checksums(tmp_path / "offsets" / "0", OFFSETS)
    checkpoint = Checkpoint(tmp_path)
    assert (checkpoint.last_planned, checkpoint.last_committed) == (0, -1)
    assert (checkpoint.log_offset("stream1", 0), checkpoint.log_offset("stream2", 0)) == (2, -1)


def test_entries_come_from_the_compacted_file_where_there_is_one(tmp_path):
    log = tmp_path / "sources" / "stream1"
    lines = [f'{{"path":"/in/{number}","batchId":{number}}}' for number in range(3)]
    with_checksums(log / "1.compact", "\n".join(["v1", *lines[:2]]))
    with_checksums(log / "2", "\n".join(["v1", lines[2]]))
    assert [entry["path"] for entry in Checkpoint(tmp_path).entries("stream1", 0, 2)] == ["/in/1", "/in/2"]


def test_every_changed_byte_is_noticed(tmp_path):
    path = with_checksums(tmp_path / "offsets" / "0", OFFSETS)
    content = path.read_bytes()
    assert list(Checkpoint(tmp_path).check_content()) == []
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(StateError, match="offsets/0 is damaged"):
            Checkpoint(tmp_path).log_offset("stream1", 0)
        assert len(list(Checkpoint(tmp_path).check_content())) == 1


@pytest.mark.parametrize("content", ['v1\n{"path"', "v1\n[]", "v7\n", ""])
def test_an_entry_that_is_none_is_damaged(tmp_path, content):
    (tmp_path / "sources" / "stream1").mkdir(parents=True)
    (tmp_path / "sources" / "stream1" / "0").write_text(content)
    with pytest.raises(StateError, match="stream1/0 is damaged"):
        list(Checkpoint(tmp_path).entries("stream1", -1, 0))
