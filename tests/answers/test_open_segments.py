"""Readers take only the manifests that the records of epochs pin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from panes.answers.open_segments import OpenSegments
from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import NOTHING, EpochLog
from panes.state.storage.manifest import ANSWER, ShardState, shard_folder


def database(
    folder: Path, *, first: int, runs: tuple[int, ...], epochs: int = 6
) -> tuple[EpochLog, ShardState]:
    """A query that only some epochs run; its answer is the number of the run."""
    log, state = EpochLog(folder / "epochs"), ShardState(shard_folder(folder / "000001", 0))
    before, pins = None, {}
    for epoch in range(epochs):
        if epoch in runs:
            chunk = Chunk.of(pa.table({"_exp": pa.array([first + epoch], pa.int64())}))
            before = state.save(epoch, {ANSWER: [chunk]}, before)
            pins = {state.place: before.pin}
        log.commit(replace(NOTHING, epoch=epoch, pins=pins))
    return log, state


def answer(log: EpochLog, state: ShardState, epoch: int) -> list[int]:
    chunks = OpenSegments(log).chunks(state.folder, epoch)[ANSWER]
    return [value for chunk in chunks for value in chunk.table.column("_exp").to_pylist()]


@pytest.mark.parametrize("oldest", [0, 2, 3, 4, 5])
def test_manifests_are_found_also_of_epochs_whose_records_are_gone(tmp_path, oldest):
    log, state = database(tmp_path, first=100, runs=(0, 1, 3))
    log.collect(oldest)
    assert (answer(log, state, 3), answer(log, state, 1)) == ([103], [101])


@pytest.mark.parametrize("oldest", [0, 2, 3, 4, 5])
@pytest.mark.parametrize("epoch", [1, 3])
def test_a_manifest_of_a_copy_of_the_database_is_refused(tmp_path, oldest, epoch):
    log, state = database(tmp_path / "db", first=100, runs=(0, 1, 3))
    _, other = database(tmp_path / "other", first=200, runs=(0, 1, 3))
    log.collect(oldest)
    name = f"manifest-{epoch:010d}.json"
    (state.folder / name).write_bytes((other.folder / name).read_bytes())
    with pytest.raises(StateError, match=rf"{name} is not the record that belongs here"):
        answer(log, state, epoch)
