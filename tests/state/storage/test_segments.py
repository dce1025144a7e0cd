"""Segments: what is written is what is read, and damage is told."""

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.segments import open_segment, write_segment


def table(*exps: int) -> pa.Table:
    return pa.table({"name": [f"row {exp}" for exp in exps], "_exp": pa.array(exps, pa.int64())})


def test_a_segment_gives_back_the_chunk_it_was_written_from(tmp_path):
    entry = write_segment(tmp_path / "one.arrow", Chunk.of(table(5, 3, 9), partition=2))
    chunk = open_segment(tmp_path, entry)
    assert (chunk.rows, chunk.low, chunk.high, dict(chunk.labels)) == (3, 3, 9, {"partition": 2})
    assert chunk.segment == "one.arrow"
    assert chunk.table.equals(table(5, 3, 9))


def test_a_segment_is_opened_only_when_its_rows_are_asked_for(tmp_path):
    entry = write_segment(tmp_path / "one.arrow", Chunk.of(table(5)))
    (tmp_path / "one.arrow").unlink()
    chunk = open_segment(tmp_path, entry)
    assert chunk.rows == 1
    with pytest.raises(StateError, match=r"one\.arrow cannot be read"):
        _ = chunk.table


@pytest.mark.parametrize("damage", [lambda b: b[:-10], lambda b: b[:40] + b"\xff" + b[41:]])
def test_a_damaged_segment_is_named_and_never_read(tmp_path, damage):
    path = tmp_path / "one.arrow"
    entry = write_segment(path, Chunk.of(table(5, 6)))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateError, match=r"one\.arrow is damaged"):
        _ = open_segment(tmp_path, entry).table


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(StateError, match=r"cannot write .*one\.arrow"):
        write_segment(tmp_path / "missing" / "one.arrow", Chunk.of(table(5)))
    assert list(tmp_path.iterdir()) == []
