"""Objects of states go when nobody needs them, wherever the removal is cut short."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
import pytest

from panes.state.buffers.chunk import Chunk
from panes.state.storage.collect_states import StateCollector
from panes.state.storage.epoch_log import NOTHING, EpochLog
from tests.kept_states import KeptStates

EPOCHS = 6


def chunk(*exps: int) -> Chunk:
    return Chunk.of(pa.table({"_exp": pa.array(exps, pa.int64())}))


def database(folder, *, stays: bool = False) -> tuple[KeptStates, EpochLog]:
    """Epochs that each replace the answer and the window; one chunk of the answer may stay for ever."""
    states, log = KeptStates(folder / "states"), EpochLog(folder / "epochs")
    for epoch in range(EPOCHS):
        old = states.chunks("answer")[:1] if stays and epoch else [chunk(1000)] if stays else []
        chunks = {
            "answer": [*old, chunk(10 + epoch)],
            "changes": [chunk(epoch)],
            "window": [chunk(20 + epoch)],
        }
        log.commit(replace(NOTHING, epoch=epoch, **states.save(epoch, chunks)))
    return states, log


def of_readers(states: KeptStates) -> list[int]:
    return [int(name[:10]) for name in states.objects() if "answers" in name]


def of_operators(states: KeptStates) -> list[int]:
    return [int(name[:10]) for name in states.objects() if "states" in name]


def test_objects_of_operators_go_sooner_than_those_of_readers(tmp_path):
    states, log = database(tmp_path)
    StateCollector(tmp_path / "states", log).collect(oldest=2, oldest_state=4)
    # What epoch 2 changed is told from what epoch 1 left.
    assert (of_readers(states), of_operators(states)) == ([1, 2, 3, 4, 5], [4, 5])
    assert list(log.epochs) == [2, 3, 4, 5]


def test_what_stays_stays(tmp_path):
    states, log = database(tmp_path, stays=True)
    StateCollector(tmp_path / "states", log).collect(oldest=5, oldest_state=5)
    assert (of_readers(states), of_operators(states)) == ([0, 4, 5], [5])
    assert [c.table.column("_exp").to_pylist() for c in states.chunks("answer")] == [[1000], [15]]


def test_the_last_epoch_is_never_collected(tmp_path):
    states, log = database(tmp_path)
    StateCollector(tmp_path / "states", log).collect(oldest=99, oldest_state=99)
    assert list(log.epochs) == [5]
    assert states.chunks("window")


def test_what_failed_attempts_left_is_removed_with_their_epoch(tmp_path):
    states, log = KeptStates(tmp_path / "states"), EpochLog(tmp_path / "epochs")
    log.commit(replace(NOTHING, epoch=0, **states.save(0, {"window": [chunk(1)]})))
    pins = dict(states.pins)
    states.save(1, {"window": [chunk(2)]}, writer="dead_4")
    states.pins = pins
    for epoch in (1, 2):
        log.commit(replace(NOTHING, epoch=epoch, **states.save(epoch, {"window": states.chunks("window")})))
    (tmp_path / "states" / "0000000001" / "notes.txt").write_text("somebody else's")
    assert any("dead" in name for name in states.objects())
    StateCollector(tmp_path / "states", log).collect(oldest=2, oldest_state=2)
    assert not any("dead" in name for name in states.objects())
    assert (tmp_path / "states" / "0000000001" / "notes.txt").exists()
    assert [c.table.column("_exp").to_pylist() for c in states.chunks("window")] == [[1]]


@pytest.mark.parametrize("cut", range(12))
def test_a_removal_that_was_cut_short_is_finished_by_the_next(tmp_path, monkeypatch, cut):
    whole, log = database(tmp_path / "whole")
    StateCollector(tmp_path / "whole" / "states", log).collect(oldest=3, oldest_state=4)
    states, log = database(tmp_path / "db")
    left = cut

    def unlink(path, missing_ok=False):
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        return removing(path, missing_ok=missing_ok)

    collector = StateCollector(tmp_path / "db" / "states", log)
    removing = type(tmp_path).unlink
    with monkeypatch.context() as patched:
        patched.setattr(type(tmp_path), "unlink", unlink)
        with suppress(KeyboardInterrupt):
            collector.collect(oldest=3, oldest_state=4)
    again = EpochLog(tmp_path / "db" / "epochs")
    StateCollector(tmp_path / "db" / "states", again).collect(oldest=3, oldest_state=4)
    assert states.objects() == whole.objects()
    assert list(again.epochs) == [3, 4, 5]
