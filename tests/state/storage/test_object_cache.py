"""What lies elsewhere is fetched once, and a copy that was damaged here is fetched again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from panes.state.storage import object_cache
from panes.state.storage.locations import UriPath
from panes.state.storage.object_cache import forget_object, local_copy, read_object, write_object

CONTENT = pa.py_buffer(bytes(range(200)))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UriPath:
    (tmp_path / "cache").mkdir()
    (tmp_path / "store").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    return UriPath((tmp_path / "store").as_uri())


def test_a_local_file_is_its_own_copy(tmp_path: Path) -> None:
    write_object(tmp_path / "a", CONTENT)
    assert local_copy(tmp_path / "a") == tmp_path / "a"
    assert read_object(tmp_path / "a", 10, 5, whole=True)[1].to_pybytes() == bytes(range(10, 15))
    assert not forget_object(tmp_path / "a", 10, 5)


def test_what_was_written_is_not_fetched(elsewhere: UriPath) -> None:
    write_object(elsewhere / "a", CONTENT)
    (elsewhere / "a").unlink()
    assert local_copy(elsewhere / "a").read_bytes() == CONTENT.to_pybytes()


def test_an_object_is_fetched_whole_and_once(elsewhere: UriPath) -> None:
    (Path(elsewhere.inside) / "a").write_bytes(CONTENT)
    assert read_object(elsewhere / "a", 10, 5, whole=True)[1].to_pybytes() == bytes(range(10, 15))
    (elsewhere / "a").unlink()
    assert read_object(elsewhere / "a", 190, 20, whole=True)[1].to_pybytes() == bytes(range(190, 200))


def test_only_a_part_of_an_object_is_fetched(elsewhere: UriPath) -> None:
    (Path(elsewhere.inside) / "a").write_bytes(CONTENT)
    path, content = read_object(elsewhere / "a", 10, 5, whole=False)
    assert content.to_pybytes() == path.read_bytes() == bytes(range(10, 15))


def test_a_damaged_copy_is_fetched_again(elsewhere: UriPath) -> None:
    (Path(elsewhere.inside) / "a").write_bytes(CONTENT)
    local_copy(elsewhere / "a").write_bytes(b"damaged")
    assert forget_object(elsewhere / "a", 0, 200)
    assert local_copy(elsewhere / "a").read_bytes() == CONTENT.to_pybytes()


def test_a_missing_object_is_missing(elsewhere: UriPath) -> None:
    with pytest.raises(FileNotFoundError):
        local_copy(elsewhere / "a")


def test_copies_that_were_not_used_for_longest_make_room(
    elsewhere: UriPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "_MOST_BYTES", 450)
    monkeypatch.setattr(object_cache, "_PUTS_PER_LOOK", 1)
    for name in "abcd":
        write_object(elsewhere / name, CONTENT)
    copies = {path.name for path in local_copy(elsewhere / "d").parent.iterdir()}
    assert copies == {"c", "d"}
