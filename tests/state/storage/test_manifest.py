"""Manifests: what is written is what is read, and what is not the manifest of the place is refused."""

from pathlib import Path

import pytest

from panes.errors import StateError
from panes.state.storage.manifest import Manifest, Place, RecordRef
from panes.state.storage.segments import SegmentEntry

PLACE = Place(7, 1, 3)
ENTRY = SegmentEntry("0000000004/0-00003-a_1-answers.arrow", 64, 2, 700, 5, "_exp", 1, 9, {"day": 2})
BEFORE = RecordRef("0000000003/0-00003-a_1-answers.arrow", 0, 40, "0123456789abcdef")


def written(folder: Path, manifest: Manifest, place: Place = PLACE) -> RecordRef:
    content, checksum = manifest.encoded(place)
    (folder / "object").write_bytes(b"before" + content + b"after")
    return RecordRef("object", len(b"before"), len(content), checksum)


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    manifest = Manifest(4, {"answer": (ENTRY,), "window.rows": ()}, BEFORE)
    ref = written(tmp_path, manifest)
    found = Manifest.read(tmp_path, PLACE, ref)
    assert (found.epoch, found.buffers, found.before) == (4, manifest.buffers, BEFORE)
    assert (found.ref, found.size) == (ref, 700)
    assert RecordRef.of(str(ref)) == ref
    assert Place.of(str(PLACE)) == PLACE


def test_a_manifest_of_another_place_is_refused(tmp_path):
    ref = written(tmp_path, Manifest(4, {}), Place(7, 1, 2))
    with pytest.raises(StateError, match=r"object at 6 is another record: 'manifest of 000007/01/0002'"):
        Manifest.read(tmp_path, PLACE, ref)


def test_another_manifest_than_the_one_that_was_named_is_refused(tmp_path):
    first = written(tmp_path, Manifest(4, {}))
    written(tmp_path, Manifest(5, {}))
    with pytest.raises(StateError, match="is not the record that belongs here"):
        Manifest.read(tmp_path, PLACE, first)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-20], lambda b: b.replace(b"epoch", b"epock"), lambda _: b""]
)
def test_a_damaged_manifest_is_named(tmp_path, damage):
    ref = written(tmp_path, Manifest(4, {}))
    path = tmp_path / "object"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateError, match="object at 6 is damaged"):
        Manifest.read(tmp_path, PLACE, ref)


def test_a_missing_object_is_named(tmp_path):
    ref = written(tmp_path, Manifest(4, {}))
    (tmp_path / "object").unlink()
    with pytest.raises(StateError, match="object is missing"):
        Manifest.read(tmp_path, PLACE, ref)
