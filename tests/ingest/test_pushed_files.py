"""Pushed files: safe under the home, and listed for Spark in the working folder."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.ingest.pushed_files import PushedFiles
from panes.state.storage.locations import location_of
from panes.state.storage.object_cache import local_copy

ROWS = pa.table({"k": [1, 2]})


@pytest.fixture(params=["", "file://"])
def home(request, tmp_path):
    return location_of(f"{request.param}{tmp_path}/home")


def listed(pushed: PushedFiles) -> list[str]:
    return sorted(path.name for path in pushed.listed.glob("*/*"))


def test_beside_the_home_a_file_is_listed_as_it_is(tmp_path):
    pushed = PushedFiles(tmp_path, tmp_path)
    pushed.add(1, "a.parquet", ROWS)
    (path,) = pushed.listed.glob("000001/*")
    assert pushed.location(1, "a.parquet") == path
    pushed.make_markers({1: {"a.parquet"}})
    pushed.remove([path])
    assert pq.read_table(path) == ROWS  # Spark removes it, once it is taken in


def test_elsewhere_a_marker_of_its_size_is_listed(home, tmp_path):
    pushed = PushedFiles(home, tmp_path / "db")
    pushed.add(1, "a.parquet", ROWS)
    file = local_copy(pushed.location(1, "a.parquet"))
    assert pq.read_table(file) == ROWS
    (marker,) = pushed.listed.glob("000001/*")
    assert marker.name == "a.parquet"
    assert marker.stat().st_size == file.stat().st_size
    assert set(marker.read_bytes()) == {0}


def test_a_new_folder_lists_what_no_epoch_has_taken_in_and_the_rest_goes(home, tmp_path):
    before = PushedFiles(home, tmp_path / "db")
    for name in ("a.parquet", "b.parquet"):
        before.add(1, name, ROWS)
    before.add(2, "a.parquet", ROWS)
    pushed = PushedFiles(home, tmp_path / "other")
    pushed.make_markers({1: {"a.parquet", "z.parquet"}})
    assert [path.relative_to(pushed.listed).as_posix() for path in sorted(pushed.listed.glob("*/*"))] == [
        "000001/b.parquet",
        "000002/a.parquet",
    ]
    again = PushedFiles(home, tmp_path / "third")
    again.make_markers({})
    assert listed(again) == ["a.parquet", "b.parquet"]


def test_markers_of_what_is_no_longer_there_go(home, tmp_path):
    pushed = PushedFiles(home, tmp_path / "db")
    pushed.add(1, "a.parquet", ROWS)
    PushedFiles(home, tmp_path / "other").make_markers({1: {"a.parquet"}})
    pushed.make_markers({})
    assert listed(pushed) == []


def test_what_is_taken_in_is_removed_and_so_is_all_of_a_dropped_stream(home, tmp_path):
    pushed = PushedFiles(home, tmp_path / "db")
    for name in ("a.parquet", "b.parquet"):
        pushed.add(1, name, ROWS)
    pushed.remove([pushed.location(1, "a.parquet")])
    assert not pushed.location(1, "a.parquet").exists()
    assert pushed.location(1, "b.parquet").exists()
    pushed.forget(1)
    assert not pushed.location(1, "b.parquet").exists()
    assert listed(pushed) == []
