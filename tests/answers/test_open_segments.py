"""Readers take only the manifests that the records of epochs pin."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from panes.answers.open_segments import _LATELY, OpenSegments
from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import NOTHING, EpochLog, EpochRecord
from panes.state.storage.manifest import ANSWER
from tests.kept_states import STAGE, KeptStates


def database(folder: Path, *, first: int, runs: tuple[int, ...], epochs: int = 6) -> EpochLog:
    """A query that only some epochs run; its answer is the number of the run."""
    log, states = EpochLog(folder / "epochs"), KeptStates(folder / "states")
    kept: dict[str, Any] = {}
    for epoch in range(epochs):
        if epoch in runs:
            chunk = Chunk.of(pa.table({"_exp": pa.array([first + epoch], pa.int64())}))
            kept = states.save(epoch, {ANSWER: [chunk]})
        log.commit(replace(NOTHING, epoch=epoch, **kept))
        kept["released"] = []
    return log


def answer(folder: Path, log: EpochLog, epoch: int) -> list[int]:
    chunks = OpenSegments(log, folder / "states").chunks(STAGE, 0, epoch)[ANSWER]
    return [value for chunk in chunks for value in chunk.table.column("_exp").to_pylist()]


@pytest.mark.parametrize("oldest", [0, 2, 3, 4, 5])
def test_manifests_are_found_also_of_epochs_whose_records_are_gone(tmp_path, oldest):
    log = database(tmp_path, first=100, runs=(0, 1, 3))
    log.collect(oldest)
    assert (answer(tmp_path, log, 3), answer(tmp_path, log, 1)) == ([103], [101])


@pytest.mark.parametrize("oldest", [0, 2, 3])
@pytest.mark.parametrize("epoch", [1, 3])
def test_objects_of_a_copy_of_the_database_are_refused(tmp_path, oldest, epoch):
    log = database(tmp_path / "db", first=100, runs=(0, 1, 3))
    database(tmp_path / "other", first=200, runs=(0, 1, 3))
    log.collect(oldest)
    (name,) = KeptStates(tmp_path / "db" / "states" / f"{epoch:010d}").objects()
    for copied in ("db", "other"):
        assert (tmp_path / copied / "states" / f"{epoch:010d}" / name).exists()
    shutil.rmtree(tmp_path / "db" / "states")
    shutil.copytree(tmp_path / "other" / "states", tmp_path / "db" / "states")
    with pytest.raises(StateError, match=r"answers\.arrow at \d+ is not the record that belongs here"):
        answer(tmp_path / "db", log, epoch)


class Epochs:
    """A query whose answer in each epoch is the number of the epoch."""

    def __init__(self, folder: Path) -> None:
        self.log, self.states = EpochLog(folder / "epochs"), KeptStates(folder / "states")
        self.open = OpenSegments(self.log, folder / "states")

    def written(self, epoch: int) -> EpochRecord:
        """What an epoch is to commit, when its tasks have written it."""
        chunk = Chunk.of(pa.table({"_exp": pa.array([epoch], pa.int64())}))
        return replace(NOTHING, epoch=epoch, **self.states.save(epoch, {ANSWER: [chunk]}))

    def commit(self, epochs: range) -> None:
        for epoch in epochs:
            self.log.commit(self.written(epoch))

    def lose_files(self) -> None:
        assert isinstance(self.states.states, Path)
        shutil.rmtree(self.states.states)

    def answer(self, epoch: int) -> list[int]:
        (chunk,) = self.open.chunks(STAGE, 0, epoch)[ANSWER]
        return list(chunk.table.column("_exp").to_pylist())


def test_where_keys_are_looked_up_segments_are_open_before_readers_see_the_epoch(tmp_path):
    epochs = Epochs(tmp_path)
    epochs.commit(range(1))
    epochs.open.expect_lookups(STAGE, 0)
    seen = []
    epochs.log.ahead.append(lambda record: seen.append((record.epoch, epochs.log.last)))
    epochs.commit(range(1, 3))
    assert seen == [(1, 0), (2, 1)]
    epochs.lose_files()
    assert (epochs.answer(1), epochs.answer(2)) == ([1], [2])
    with pytest.raises(StateError):
        epochs.answer(0)


def test_a_while_after_the_last_lookup_segments_wait_for_their_reader(tmp_path):
    epochs = Epochs(tmp_path)
    epochs.commit(range(1))
    epochs.open.expect_lookups(STAGE, 0)
    epochs.commit(range(1, _LATELY + 2))
    epochs.lose_files()
    assert epochs.answer(_LATELY) == [_LATELY]
    with pytest.raises(StateError):
        epochs.answer(_LATELY + 1)


def test_a_damaged_segment_fails_its_reader_and_no_epoch(tmp_path):
    epochs = Epochs(tmp_path)
    epochs.commit(range(1))
    epochs.open.expect_lookups(STAGE, 0)
    record = epochs.written(1)
    epochs.lose_files()
    epochs.log.commit(record)
    assert epochs.log.last == 1
    with pytest.raises(StateError):
        epochs.answer(1)
