"""Segments: what is written is what is read, and damage is told."""

from pathlib import Path

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.segments import SegmentEntry, encode_segment, entry_of, open_segment


def table(*exps: int) -> pa.Table:
    return pa.table({"name": [f"row {exp}" for exp in exps], "_exp": pa.array(exps, pa.int64())})


def written(folder: Path, chunk: Chunk, offset: int = 0) -> SegmentEntry:
    content = encode_segment(chunk)
    (folder / "one.arrow").write_bytes(bytes(offset) + content.to_pybytes() + b"what comes after it")
    return entry_of(chunk, content, "one.arrow", offset)


@pytest.mark.parametrize("offset", [0, 128])
def test_a_segment_gives_back_the_chunk_it_was_written_from(tmp_path, offset):
    entry = written(tmp_path, Chunk.of(table(5, 3, 9), partition=2), offset)
    chunk = open_segment(tmp_path, SegmentEntry(*entry.as_json()))
    assert (chunk.rows, chunk.low, chunk.high, dict(chunk.labels)) == (3, 3, 9, {"partition": 2})
    assert chunk.segment == f"one.arrow@{offset}"
    assert chunk.table.equals(table(5, 3, 9))


def test_a_segment_is_opened_only_when_its_rows_are_asked_for(tmp_path):
    entry = written(tmp_path, Chunk.of(table(5)))
    (tmp_path / "one.arrow").unlink()
    chunk = open_segment(tmp_path, entry)
    assert chunk.rows == 1
    with pytest.raises(StateError, match=r"one\.arrow at 0 cannot be read"):
        _ = chunk.table


@pytest.mark.parametrize("damage", [lambda b: b[:100], lambda b: b[:140] + b"\xff" + b[141:], lambda _: b"x"])
def test_a_damaged_segment_is_named_and_never_read(tmp_path, damage):
    entry = written(tmp_path, Chunk.of(table(5, 6)), offset=64)
    path = tmp_path / "one.arrow"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateError, match=r"one\.arrow at 64 is damaged"):
        _ = open_segment(tmp_path, entry).table


def test_a_segment_that_was_verified_is_verified_again_when_its_file_changes(tmp_path):
    entry = written(tmp_path, Chunk.of(table(5, 6)))
    assert open_segment(tmp_path, entry).table.num_rows == 2
    (tmp_path / "one.arrow").write_bytes(bytes(1000))
    with pytest.raises(StateError, match=r"one\.arrow at 0 is damaged"):
        _ = open_segment(tmp_path, entry).table
