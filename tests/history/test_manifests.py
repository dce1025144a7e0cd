"""The history of a stream is all that the epochs name, or an error: nothing is left out in silence."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.history.history_store import History, write_part
from panes.state.storage.epoch_log import NOTHING, EpochLog
from tests.history.test_history_store import S

EPOCHS = 6


class Kept:
    """A history of one row per epoch, with a base after every third, and the log that pins it."""

    def __init__(self, folder: Path, *, first: int = 0) -> None:
        self.folder = folder / "history" / "000001"
        self.log = EpochLog(folder / "epochs")
        self.history = History(folder / "history", self.log, epochs_per_base=3)
        pins: dict[str, str] = {}
        for epoch in range(EPOCHS):
            row = pa.table({"ts": [epoch], "k": [first + epoch], "_ts": [epoch]})
            name = write_part(self.history.folder, 1, epoch, 0, row)
            pins |= self.history.note(S, epoch, [name], rows=1, max_ts=epoch)
            self.log.commit(replace(NOTHING, epoch=epoch, pins=dict(pins)))
            self.history.collect(S, epoch, oldest_ts=0, retain_epochs=100)

    def times(self, epoch: int = EPOCHS - 1) -> list[int]:
        """What another process reads."""
        history = History(self.folder.parent, EpochLog(self.log.path(0).parent))
        return history.arrivals(S, epoch).column("_ts").to_pylist()


@pytest.fixture
def kept(tmp_path) -> Kept:
    kept = Kept(tmp_path / "db")
    assert kept.times() == list(range(EPOCHS))
    return kept


def test_a_base_and_the_epochs_after_it_are_the_history(kept):
    bases = sorted(path.name for path in kept.folder.glob("base-*"))
    assert bases == ["base-0000000002.json", "base-0000000005.json"]
    assert kept.times(4) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("epoch", [3, 4])
def test_a_lost_manifest_is_missing(kept, epoch):
    (kept.folder / f"epoch-{epoch:010d}.json").unlink()
    with pytest.raises(StateError, match=rf"epoch-{epoch:010d}\.json is missing"):
        kept.times(4)


def test_a_lost_folder_is_missing(kept):
    shutil.rmtree(kept.folder)
    with pytest.raises(StateError, match=r"epoch-0000000005\.json is missing"):
        kept.times()


def test_a_lost_base_is_made_up_for_by_the_manifests_that_it_stands_for(kept):
    (kept.folder / "base-0000000005.json").unlink()
    assert kept.times() == list(range(EPOCHS))


def test_a_manifest_of_another_history_is_refused(kept, tmp_path):
    other = Kept(tmp_path / "other", first=100)
    for name in ("epoch-0000000004.json", "base-0000000002.json"):
        ours = (kept.folder / name).read_bytes()
        (kept.folder / name).write_bytes((other.folder / name).read_bytes())
        with pytest.raises(StateError, match=rf"{name}.* belong"):
            kept.times(4)
        (kept.folder / name).write_bytes(ours)


def test_a_manifest_of_an_epoch_that_was_never_committed_is_not_read(kept):
    row = pa.table({"ts": [9], "k": [9], "_ts": [9]})
    name = write_part(kept.history.folder, 1, EPOCHS, 0, row)
    kept.history.note(S, EPOCHS, [name], rows=1, max_ts=9)
    last = kept.log.latest()
    kept.log.commit(replace(last, epoch=EPOCHS))  # another epoch took the number, without rows
    assert kept.times(EPOCHS) == list(range(EPOCHS))


def test_swapped_files_are_damaged(kept):
    one, other = (kept.folder / f"part-{epoch:010d}-00000.parquet" for epoch in (3, 4))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    with pytest.raises(StateError, match=r"part-000000000[34]-00000\.parquet is damaged"):
        kept.times(4)


def test_every_changed_byte_of_a_file_is_noticed(kept):
    path = kept.folder / "part-0000000004-00000.parquet"
    content = path.read_bytes()
    for place in range(0, len(content), 11):
        path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(StateError, match=r"part-0000000004-00000\.parquet is damaged"):
            kept.times(4)
