"""Indexes that have the changes since an earlier one say the same as whole ones, and release the same objects."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from panes.errors import StateError
from panes.state.storage.index import Index, IndexEntry
from panes.state.storage.manifest import Place, RecordRef
from tests.kept_states import overwrite

PLACES = [str(Place(running, 0, shard)) for running in range(10) for shard in range(2)]


def entry(number: int, epoch: int) -> IndexEntry:
    """That of a place whose manifest an epoch wrote; some segments are of earlier epochs."""
    segments = frozenset(f"states {epoch - epoch % (number % 3 + 1)}" for _ in range(number % 2))
    return IndexEntry(RecordRef(f"answers {epoch}", number, 10, "0" * 16), segments)


def written(folder: Path, index: Index, epoch: int) -> Index:
    content, checksum = index.encoded()
    name = f"answers {epoch}"
    (folder / name).write_bytes(content)
    return index.at(RecordRef(name, 0, len(content), checksum))


def read(folder: Path, index: Index) -> Index:
    assert index.ref is not None
    return Index.read(folder, 0, 0, index.ref)


CHANGES = st.tuples(
    st.sets(st.sampled_from(range(len(PLACES))), max_size=5),
    st.sets(st.sampled_from(range(len(PLACES))), max_size=2),
)


@example(steps=[({0, 1, 2, 3, 4}, set()), ({19}, set()), ({19}, set()), ({19}, set())])
@given(steps=st.lists(CHANGES, min_size=1, max_size=8))
def test_changes_since_a_base_say_what_a_whole_index_says(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("states")
    model = {place: entry(number, 0) for number, place in enumerate(PLACES)}
    index = written(folder, Index(0, 0, {}).changed(model, set()), 0)
    for epoch, (new, gone) in enumerate(steps, 1):
        changed = {PLACES[number]: entry(number, epoch) for number in new}
        lost = {PLACES[number] for number in gone - new} & model.keys()
        model = {place: e for place, e in model.items() if place not in lost} | changed
        after = written(folder, index.changed(changed, lost), epoch)
        found = read(folder, after)
        assert dict(found.places) == model
        assert [found.entry(place) for place in PLACES] == [model.get(place) for place in PLACES]
        assert {name for name in index.objects | found.objects if found.needs(name)} == found.objects
        assert index.released(after) == index.objects - after.objects
        asleep = {0, 1, 2, 7}
        beside = sorted(place for place in model if Place.of(place).running not in asleep)
        assert sorted(found.places_beside(asleep)) == beside
        index = found


def many(folder: Path) -> Index:
    places = {str(Place(running, 0, 0)): entry(running, 0) for running in range(100)}
    return written(folder, Index(0, 0, {}).changed(places, set()), 0)


def test_few_changes_are_written_alone_and_many_with_all_others(tmp_path):
    whole = many(tmp_path)
    few = whole.changed({str(Place(3, 0, 0)): entry(3, 1)}, {str(Place(4, 0, 0))})
    assert few.base is whole
    assert len(few.encoded()[0]) < len(whole.encoded()[0]) / 10
    several = {str(Place(running, 0, 0)): entry(running, 2) for running in range(30)}
    assert written(tmp_path, few, 1).changed(several, set()).base is None


def test_a_base_is_read_again_when_its_file_has_changed(tmp_path):
    index = written(tmp_path, many(tmp_path).changed({PLACES[0]: entry(0, 1)}, set()), 1)
    assert read(tmp_path, index).base is read(tmp_path, index).base
    overwrite(tmp_path / "answers 0", 100, 4)
    with pytest.raises(StateError, match="answers 0"):
        read(tmp_path, index)
    (tmp_path / "answers 0").unlink()
    with pytest.raises(StateError, match="answers 0 is missing"):
        read(tmp_path, index)
