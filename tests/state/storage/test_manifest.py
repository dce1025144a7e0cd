"""Manifests: each epoch from the one before, nothing written twice, nothing kept for ever."""

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import ShardState


def chunk(*exps: int) -> Chunk:
    return Chunk.of(pa.table({"_exp": pa.array(exps, pa.int64())}))


def segments(folder):
    return sorted(path.name for path in folder.glob("*.arrow"))


def rows(state, epoch, buffer):
    return [c.table.column("_exp").to_pylist() for c in state.chunks(state.load(epoch), buffer)]


def test_a_chunk_that_stays_keeps_its_segment(tmp_path):
    state = ShardState(tmp_path)
    first = state.save(0, {"window": [chunk(1, 2)], "answer": [chunk(7)]}, None)
    kept = state.chunks(first, "window")
    state.save(1, {"window": [*kept, chunk(3)], "answer": []}, first)
    assert segments(tmp_path) == [
        "answer-0000000000-0001.arrow",
        "segment-0000000000-0000.arrow",
        "segment-0000000001-0000.arrow",
    ]
    assert rows(state, 0, "window") == [[1, 2]]
    assert rows(state, 1, "window") == [[1, 2], [3]]
    assert rows(state, 1, "answer") == []


def test_an_epoch_done_again_writes_the_same_names(tmp_path):
    state = ShardState(tmp_path)
    first = state.save(0, {"window": [chunk(1)]}, None)
    once = state.save(1, {"window": [*state.chunks(first, "window"), chunk(2)]}, first)
    files = sorted(path.name for path in tmp_path.iterdir())
    again = state.save(1, {"window": [*state.chunks(first, "window"), chunk(2)]}, first)
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert again == once


def test_collecting_removes_what_only_old_epochs_name(tmp_path):
    state = ShardState(tmp_path)
    before = state.save(0, {"window": [chunk(1), chunk(9)]}, None)
    for epoch in range(1, 4):
        stays = state.chunks(before, "window")[-1]
        before = state.save(epoch, {"window": [chunk(epoch), stays]}, before)
    state.collect(oldest_epoch=3)
    assert [path.name for path in tmp_path.glob("manifest-*")] == ["manifest-0000000003.json"]
    assert segments(tmp_path) == ["segment-0000000000-0001.arrow", "segment-0000000003-0000.arrow"]
    assert rows(state, 3, "window") == [[3], [9]]


def test_answers_and_changes_stay_longer_than_the_states_of_operators(tmp_path):
    state = ShardState(tmp_path)
    before = None
    for epoch in range(5):
        chunks = {"window": [chunk(epoch)], "answer": [chunk(10 + epoch)], "changes": [chunk(20 + epoch)]}
        before = state.save(epoch, chunks, before)
    state.collect(oldest_epoch=2, oldest_state=4)
    for epoch in (2, 3, 4):
        assert rows(state, epoch, "answer") == [[10 + epoch]]
        assert rows(state, epoch, "changes") == [[20 + epoch]]
    assert rows(state, 4, "window") == [[4]]
    assert len(segments(tmp_path)) == 2 * 3 + 1
    assert len(list(tmp_path.glob("manifest-*"))) == 3


def test_what_a_failed_epoch_left_behind_is_collected(tmp_path):
    state = ShardState(tmp_path)
    first = state.save(0, {"window": [chunk(1)]}, None)
    # An attempt at epoch 1 wrote three segments and the beginning of a fourth, and then failed.
    state.save(1, {"window": [chunk(1), chunk(2), chunk(3)]}, first)
    (tmp_path / ".segment-0000000001-0003.arrow.77.tmp").write_text("half")
    before = state.save(1, {"window": [chunk(2)]}, first)
    state.save(2, {"window": state.chunks(before, "window")}, before)
    state.collect(oldest_epoch=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "manifest-0000000002.json",
        "segment-0000000001-0000.arrow",
    ]
    assert rows(state, 2, "window") == [[2]]


def test_the_last_manifest_is_never_collected(tmp_path):
    state = ShardState(tmp_path)
    state.save(0, {"window": [chunk(1)]}, None)
    state.collect(oldest_epoch=5)
    assert rows(state, 0, "window") == [[1]]


def test_a_missing_manifest_is_named(tmp_path):
    with pytest.raises(StateError, match=r"manifest-0000000004\.json is missing"):
        ShardState(tmp_path).load(4)


def test_a_damaged_manifest_is_named(tmp_path):
    (tmp_path / "manifest-0000000004.json").write_text('{"epoch": 4, "buff')
    with pytest.raises(StateError, match=r"manifest-0000000004\.json is damaged"):
        ShardState(tmp_path).load(4)
