"""What tasks write: two objects an epoch, nothing written twice, nothing that another attempt could overwrite."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage import task_states
from panes.state.storage.epoch_states import EpochStates, StagePlace
from panes.state.storage.index import Index, pin_of_task
from panes.state.storage.task_states import ObjectName, TaskStates
from tests.kept_states import STAGE, KeptStates, overwrite

OTHER = StagePlace(8, 0, 0, True)
ALONE = StagePlace(9, 0, 0, False)
READERS, OPERATORS = "0-00000-a_1-answers.arrow", "0-00000-a_1-states.arrow"


def chunk(*exps: int, **labels: int) -> Chunk:
    return Chunk.of(pa.table({"_exp": pa.array(exps, pa.int64())}), **labels)


def rows(states: KeptStates, buffer: str) -> list[list[int]]:
    return [part.table.column("_exp").to_pylist() for part in states.chunks(buffer)]


def test_an_epoch_writes_one_object_for_readers_and_one_for_operators(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1, 2), chunk(3)], "answer": [chunk(7)], "changes": [chunk(7)]})
    assert states.objects() == [f"0000000000/{READERS}", f"0000000000/{OPERATORS}"]
    assert (rows(states, "window"), rows(states, "answer")) == ([[1, 2], [3]], [[7]])


def test_a_chunk_that_stays_is_not_written_again(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1, 2)], "answer": []})
    before = states.manifest()
    states.save(1, {"window": [*states.chunks("window"), chunk(3)], "answer": []})
    after = states.manifest()
    assert before.buffers["window"] == after.buffers["window"][:1]
    assert rows(states, "window") == [[1, 2], [3]]
    assert after.before == before.ref


def test_a_chunk_that_stays_may_get_other_labels(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1, day=1)]})
    (kept,) = states.chunks("window")
    kept.labels = {"day": 2}
    states.save(1, {"window": [kept]})
    (found,) = states.chunks("window")
    assert dict(found.labels) == {"day": 2}
    assert not any(name == f"0000000001/{OPERATORS}" for name in states.objects())


def test_what_an_epoch_no_longer_needs_is_released(tmp_path):
    states = KeptStates(tmp_path)
    first = states.save(0, {"window": [chunk(1)], "answer": [chunk(5)]})
    second = states.save(1, {"window": [chunk(2)], "answer": states.chunks("answer")})
    third = states.save(2, {"window": states.chunks("window"), "answer": []})
    assert first["released"] == []
    assert second["released"] == [f"0000000000/{OPERATORS}"]
    # The answer of epoch 0 stayed in its object until now, and the manifest of epoch 1 is not needed any more.
    assert sorted(third["released"]) == [f"0000000000/{READERS}", f"0000000001/{READERS}"]


def test_a_large_segment_is_an_object_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(task_states, "_ALONE", 1_000)
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(*range(500)), chunk(1)], "answer": [chunk(*range(400))]})
    assert states.objects() == [
        "0000000000/0-00000-a_1-answers-0000.arrow",
        f"0000000000/{READERS}",
        "0000000000/0-00000-a_1-states-0000.arrow",
        f"0000000000/{OPERATORS}",
    ]
    assert rows(states, "window") == [list(range(500)), [1]]


def test_a_small_segment_does_not_keep_an_old_object_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(task_states, "_COPIED_AFTER", 3)
    states = KeptStates(tmp_path)
    kept = [states.save(0, {"window": [chunk(1)]})]
    kept += [states.save(epoch, {"window": states.chunks("window")}) for epoch in range(1, 5)]
    assert rows(states, "window") == [[1]]
    assert [f"0000000000/{OPERATORS}" in record["released"] for record in kept] == [
        False,
        False,
        False,
        True,
        False,
    ]


def test_two_attempts_of_a_task_do_not_touch_what_the_other_wrote(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1)]})
    before = dict(states.pins)
    states.save(1, {"window": [chunk(2)]}, writer="a_7")
    first, states.pins = states.pins, before
    states.save(1, {"window": [chunk(3)]}, writer="a_8")
    assert rows(states, "window") == [[3]]
    states.pins = first
    assert rows(states, "window") == [[2]]


def test_a_task_without_news_writes_nothing(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1)]})
    task = TaskStates(states.now, 1, 0, 0, "a_2")
    task.keep(STAGE, 0)
    assert task.finish() is None
    task = TaskStates(states.now, 1, 0, 1, "a_2")
    task.keep(STAGE, 1)
    assert task.finish() is None


def test_a_query_that_did_not_run_keeps_its_manifest(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1)]})
    task = TaskStates(states.now, 1, 0, 0, "a_2")
    task.keep(STAGE, 0)
    task.save(OTHER.shard(0), {"window": [chunk(5)]}, None)
    saved = task.finish()
    assert saved.released == ()
    before = states.manifest()
    states.pins = {pin_of_task(0, 0): saved.pin}
    assert states.manifest() == before
    assert rows(states, "window") == [[1]]


def test_a_query_that_is_gone_is_released(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1)]})
    saved = TaskStates(states.now, 1, 0, 0, "a_2").finish()
    assert sorted(saved.released) == [f"0000000000/{READERS}", f"0000000000/{OPERATORS}"]
    states.pins = {pin_of_task(0, 0): saved.pin}
    assert states.manifest() is None


def test_a_stage_that_moves_to_another_task_takes_its_segments_with_it(tmp_path):
    # It is the only one of its stage, so with two tasks task 1 has it, and with one task 0.
    states = KeptStates(tmp_path, ALONE, shards=2)
    task = TaskStates(states.now, 0, 0, 1, "a_1")
    task.save(ALONE.shard(0), {"window": [chunk(1)], "answer": [chunk(2)]}, None)
    states.pins[pin_of_task(0, 1)] = task.finish().pin
    moved = TaskStates(EpochStates(tmp_path, dict(states.pins), tasks=2), 1, 0, 0, "a_1")
    moved.keep(ALONE, 0)
    states.pins = {pin_of_task(0, 0): moved.finish().pin}
    states.shards = 1
    manifest = states.manifest()
    assert manifest.epoch == 0
    assert {ObjectName.of(entry.object).task for entry in manifest.entries} == {0}
    assert (rows(states, "window"), rows(states, "answer")) == ([[1]], [[2]])


def test_an_index_that_cannot_be_read_is_told_to_whoever_needs_it(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1)]})
    path = Path(tmp_path / "0000000000" / READERS)
    overwrite(path, path.stat().st_size - 10, 5)
    task = TaskStates(states.now, 1, 0, 0, "a_2")
    with pytest.raises(StateError, match=r"answers\.arrow at \d+ is damaged"):
        task.keep(STAGE, 0)
    task.save(OTHER.shard(0), {"window": [chunk(5)]}, None)
    assert task.finish() is not None


def test_names_are_told_apart_from_those_of_others():
    name = ObjectName(12, 1, 3, "ab12_7", True)
    assert ObjectName.of(name.text()) == ObjectName.of(name.text(4)) == name
    assert ObjectName.of("0000000012/notes.txt") is None


def test_an_index_names_every_object_once(tmp_path):
    states = KeptStates(tmp_path)
    states.save(0, {"window": [chunk(1)], "answer": [chunk(2)]})
    index = states.now.index(0, 0)
    assert isinstance(index, Index)
    assert index.objects == {f"0000000000/{READERS}", f"0000000000/{OPERATORS}"}
    assert states.now.index(0, 5) is None


def test_states_of_plans_that_sleep_stay_and_those_of_others_go(tmp_path):
    first = TaskStates(EpochStates(tmp_path, {}, 1), 0, 0, 0, "a")
    for place in (STAGE.shard(0), STAGE.shard(1), OTHER.shard(0)):
        first.save(place, {"window": [chunk(1)]}, None)
    pin = first.finish().pin
    before = EpochStates(tmp_path, {pin_of_task(0, 0): pin}, 1)
    sleeping = TaskStates(before, 1, 0, 0, "b")
    sleeping.keep_all({STAGE.running, OTHER.running})
    assert sleeping.finish() is None, "nothing is written"
    other = TaskStates(before, 1, 0, 0, "c")
    other.keep_all({STAGE.running})
    after = EpochStates(tmp_path, {pin_of_task(0, 0): other.finish().pin}, 1)
    assert set(after.index(0, 0).places) == {str(STAGE.shard(0)), str(STAGE.shard(1))}
