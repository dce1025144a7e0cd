"""States on any file system that pyarrow knows: the same files, the same answers, the same errors."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from panes.errors import StateError
from panes.state.buffers.chunk import Chunk
from panes.state.storage import locations
from panes.state.storage.files import write_bytes
from panes.state.storage.locations import UriPath, location_of, names_in, parent_of, remove_files, remove_tree
from tests.kept_states import KeptStates
from tests.state.full_disk import FullDisk


def chunk(*exps: int) -> Chunk:
    return Chunk.of(pa.table({"_exp": pa.array(exps, pa.int64())}))


@pytest.fixture(params=["URI", "subtree"])
def folder(request, tmp_path, monkeypatch) -> UriPath:
    """A folder that is reached through pyarrow alone."""
    if request.param == "subtree":
        subtree = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
        monkeypatch.setattr(locations, "file_system_of", lambda _root: (subtree, "db"))
    return UriPath(f"file://{tmp_path}/db")


def test_a_place_is_a_folder_of_this_machine_or_a_uri(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert location_of("states") == tmp_path / "states"
    assert location_of(tmp_path) == tmp_path
    assert location_of("s3://bucket/states?region=eu-west-1") == UriPath(
        "s3://bucket/states?region=eu-west-1"
    )


def test_a_path_below_a_uri_is_shown_as_a_uri():
    below = UriPath("s3://bucket/states/?region=eu-west-1") / "000001" / "one"
    assert str(below) == "s3://bucket/states/000001/one?region=eu-west-1"
    assert below.name == "one"
    assert parent_of(below) == UriPath("s3://bucket/states/?region=eu-west-1") / "000001"
    assert str(below.with_name("other")) == "s3://bucket/states/000001/other?region=eu-west-1"
    assert pickle.loads(pickle.dumps(below)) == below


def test_a_uri_of_an_unknown_kind_is_refused_with_a_reason():
    with pytest.raises(StateError, match=r"states cannot be kept in gopher://there: .*pyarrow\.fs"):
        names_in(UriPath("gopher://there"))


def test_epochs_are_the_same_files_as_in_a_local_folder(folder, tmp_path):
    for home in (folder, tmp_path / "local"):
        states = KeptStates(home / "states")
        states.save(0, {"window": [chunk(1), chunk(9)]})
        for epoch in range(1, 4):
            states.save(epoch, {"window": [chunk(epoch, epoch), states.chunks("window")[-1]]})
        rows = [part.table.column("_exp").to_pylist() for part in states.chunks("window")]
        assert rows == [[3, 3], [9]]
    assert files_of(tmp_path / "local") == files_of(tmp_path / "db")


def test_names_are_listed_and_whole_folders_removed(folder):
    assert names_in(folder / "many") == []
    (folder / "many" / "1").mkdir()
    write_bytes(folder / "many" / "1" / "a.json", b"1")
    write_bytes(folder / "many" / "1" / "a.json", b"2")
    assert (folder / "many" / "1" / "a.json").read_bytes() == b"2"
    assert names_in(folder / "many" / "1") == ["a.json"]
    remove_tree(folder / "many" / "1")
    remove_tree(folder / "many" / "1")
    assert names_in(folder / "many") == []


@pytest.fixture
def disk(tmp_path, monkeypatch) -> FullDisk:
    disk = FullDisk(fs.LocalFileSystem(), room=1_000_000)
    system = fs.PyFileSystem(disk)
    monkeypatch.setattr(locations, "file_system_of", lambda _root: (system, str(tmp_path)))
    return disk


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}


def test_files_are_removed_whether_they_are_there_or_not(folder):
    folder.mkdir()
    for name in ("a", "b"):
        write_bytes(folder / name, b"1")
    remove_files(folder / name for name in ("a", "missing"))
    assert names_in(folder) == ["b"]
    remove_files([])


def test_a_disk_that_fills_up_at_any_byte_changes_nothing_that_was_committed(disk, tmp_path):
    states = KeptStates(UriPath("full://disk") / "states")
    states.save(0, {"window": [chunk(1, 2)]})
    pins = dict(states.pins)

    def save_next():
        states.pins = dict(pins)
        states.save(1, {"window": [*states.chunks("window"), chunk(3)], "answer": [chunk(4, 5)]})

    committed = files_of(tmp_path)
    disk.room = 1_000_000
    save_next()
    needed = 1_000_000 - disk.room
    whole = files_of(tmp_path)
    for name in whole.keys() - committed.keys():
        (tmp_path / name).unlink()

    for room in range(0, needed, max(1, needed // 40)):
        disk.room = room
        with pytest.raises(
            StateError,
            match=r"cannot write full://disk/states/.*000001.*No space left on device.*run again",
        ):
            save_next()
        left = files_of(tmp_path)
        assert {name: left[name] for name in committed} == committed
        # What is there besides is whole, and has no index.
        assert {name: left[name] for name in left.keys() - committed.keys()}.items() <= whole.items()
        assert not any("0000000001" in name and "answers" in name for name in left)
    disk.room = needed
    save_next()
    assert files_of(tmp_path) == whole
    assert disk.room == 0
