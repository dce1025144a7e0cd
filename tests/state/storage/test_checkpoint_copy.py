"""The copy of Spark's checkpoint: made again it is that of the last committed epoch, and nothing beyond it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from panes.errors import StateError
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.checkpoint_copy import CheckpointCopy, restore_checkpoint
from panes.state.storage.locations import Location, location_of


@pytest.fixture(params=["", "file://"])
def copies(request, tmp_path) -> Location:
    return location_of(f"{request.param}{tmp_path}/home/checkpoint")


class Folder:
    """A working folder, in which Spark takes in a file of a source and a pushed one with every micro-batch."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoint = path / "checkpoint"

    def plan(self, batch: int, *, is_compacted: bool = False) -> None:
        self.write("metadata", '{"id":"x"}')
        self.write("sources/stream3/0", "v1\n17")
        self.write(
            f"offsets/{batch}",
            f'v2\n{{}}\nstream1:{{"logOffset":{batch}}}\nstream2:{{"logOffset":{batch}}}\nstream3:{batch}',
        )
        for source, folder in (("stream1", Path("/in put")), ("stream2", self.path / "pushed" / "000002")):
            entries = [
                json.dumps({"path": (folder / f"{number}.parquet").as_uri(), "batchId": number})
                for number in range(0 if is_compacted else batch, batch + 1)
            ]
            name = f"{batch}.compact" if is_compacted else str(batch)
            self.write(f"sources/{source}/{name}", "\n".join(["v1", *entries]))

    def files(self) -> dict[str, str]:
        return {
            path.relative_to(self.checkpoint).as_posix(): path.read_text()
            for path in self.checkpoint.rglob("*")
            if path.is_file()
        }

    def taken(self, source: str, batch: int) -> list[str]:
        checkpoint = Checkpoint(self.checkpoint)
        last = checkpoint.log_offset(source, batch)
        return [entry["path"] for entry in checkpoint.entries(source, -1, last)]

    def write(self, name: str, text: str) -> None:
        (self.checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
        (self.checkpoint / name).write_text(text)


def restored(copies: Location, pin: str, path: Path) -> Folder:
    folder = Folder(path)
    restore_checkpoint(copies, pin, folder.checkpoint, is_done=True)
    return folder


def run(folder: Folder, copy: CheckpointCopy, batches: range) -> dict[int, str]:
    pins = {}
    for batch in batches:
        folder.plan(batch, is_compacted=batch == 3)
        pins[batch] = copy.keep(batch)
    return pins


@pytest.mark.parametrize("batch", [0, 2, 3, 5])
def test_a_checkpoint_is_made_again_as_of_an_epoch(copies, tmp_path, batch):
    one = Folder(tmp_path / "one")
    pins = run(one, CheckpointCopy(copies, one.checkpoint, "1-a"), range(6))
    (tmp_path / "two" / "checkpoint").mkdir(parents=True)
    (tmp_path / "two" / "checkpoint" / "stale").touch()
    two = restored(copies, pins[batch], tmp_path / "two")
    checkpoint = Checkpoint(two.checkpoint)
    assert (checkpoint.last_planned, checkpoint.last_committed) == (batch, batch)
    checkpoint.check_against(batch, batch, Checkpoint(one.checkpoint).pin(batch))
    files = two.files()
    assert files["metadata"] == '{"id":"x"}'
    assert files["sources/stream3/0"] == "v1\n17"
    assert {name for name in files if "offsets" in name} == {
        f"offsets/{n}" for n in (batch - 1, batch) if n >= 0
    }
    assert "stale" not in files
    assert two.taken("stream1", batch) == [f"file:///in%20put/{n}.parquet" for n in range(batch + 1)]


def test_pushed_files_are_those_of_the_new_folder(copies, tmp_path):
    one = Folder(tmp_path / "one")
    pins = run(one, CheckpointCopy(copies, one.checkpoint, "1-a"), range(2))
    two = restored(copies, pins[1], tmp_path / "two")
    assert two.taken("stream2", 1) == [f"file://{tmp_path}/two/pushed/000002/{n}.parquet" for n in range(2)]


def test_logs_are_compacted_where_spark_had_compacted_them(copies, tmp_path):
    one = Folder(tmp_path / "one")
    pins = run(one, CheckpointCopy(copies, one.checkpoint, "1-a"), range(6))
    names = {name for name in restored(copies, pins[5], tmp_path / "two").files() if "stream1" in name}
    assert names == {f"sources/stream1/{name}" for name in ("3.compact", "4", "5")}


def test_another_driver_goes_on_from_an_epoch_whatever_the_first_does(copies, tmp_path):
    one = Folder(tmp_path / "one")
    first = CheckpointCopy(copies, one.checkpoint, "1-a")
    pins = run(one, first, range(3))
    two = restored(copies, pins[1], tmp_path / "two")
    second = CheckpointCopy(copies, two.checkpoint, "2-b")
    two.plan(2)
    pin = second.keep(2)
    second.collect(pin)
    run(one, first, range(3, 4))
    three = restored(copies, pin, tmp_path / "three")
    assert three.taken("stream2", 2)[2] == f"file://{tmp_path}/three/pushed/000002/2.parquet"
    with pytest.raises(StateError, match="is missing"):
        restored(copies, pins[1], tmp_path / "four")


def test_what_is_kept_for_a_micro_batch_follows_what_it_brings(tmp_path):
    one = Folder(tmp_path / "one")
    copy = CheckpointCopy(tmp_path / "copies", one.checkpoint, "1-a")
    run(one, copy, range(30))
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "copies").glob("*/*")}
    assert sizes["0000000029"] < 1.2 * sizes["0000000001"]


def test_without_a_pin_there_is_no_checkpoint(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    restore_checkpoint(tmp_path / "copies", None, tmp_path / "checkpoint", is_done=True)
    assert not (tmp_path / "checkpoint").exists()


def test_files_that_are_noted_and_in_no_micro_batch_yet_are_listed_anew(copies, tmp_path):
    one = Folder(tmp_path / "one")
    one.plan(0)
    one.write("sources/stream4/0", 'v1\n{"path":"file:///in/x","batchId":0}')
    pin = CheckpointCopy(copies, one.checkpoint, "1-a").keep(0)
    names = restored(copies, pin, tmp_path / "two").files().keys()
    assert {name for name in names if name.startswith("sources/")} == {
        f"sources/stream{number}/0" for number in (1, 2, 3)
    }


def test_a_micro_batch_that_is_done_again_is_in_it_once(copies, tmp_path):
    one = Folder(tmp_path / "one")
    copy = CheckpointCopy(copies, one.checkpoint, "1-a")
    run(one, copy, range(2))
    pin = copy.keep(1)
    assert len(restored(copies, pin, tmp_path / "two").taken("stream1", 1)) == 2


def test_spark_does_again_what_the_caller_may_not_have_been_told_of(copies, tmp_path):
    one = Folder(tmp_path / "one")
    pins = run(one, CheckpointCopy(copies, one.checkpoint, "1-a"), range(3))
    two = Folder(tmp_path / "two")
    restore_checkpoint(copies, pins[2], two.checkpoint, is_done=False)
    checkpoint = Checkpoint(two.checkpoint)
    assert (checkpoint.last_planned, checkpoint.last_committed) == (2, 1)
    checkpoint.check_against(2, 2, None)
