"""A folder that is no database is refused, and so are parts that do not belong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import panes
from panes.errors import StateError
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.epoch_log import NOTHING, EpochLog
from panes.state.storage.opening import check_opening, check_place


def test_an_empty_path_is_refused():
    with pytest.raises(StateError, match="the path of the database is empty"):
        panes.connect("")


def test_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StateError, match="file is a file; a database is a folder"):
        panes.connect(tmp_path / "file")


def test_a_folder_with_other_files_is_refused_and_stays_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(
        StateError, match=r"is not a database: it holds thesis\.tex; name an empty or a new folder"
    ):
        panes.connect(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("part", ["epochs", "checkpoint", "history", "states", "terms"])
def test_a_database_without_its_catalog_is_refused(tmp_path, part):
    (tmp_path / part).mkdir()
    with pytest.raises(StateError, match=rf"holds {part} of a database, but catalog\.sqlite is missing"):
        panes.connect(tmp_path)


def test_what_a_killed_process_left_while_it_made_a_database_is_no_hindrance(tmp_path):
    (tmp_path / "lock").touch()
    (tmp_path / ".catalog.sqlite.77.tmp").write_bytes(b"half")
    check_place(tmp_path)
    panes.connect(tmp_path).close()


# What belongs together.


def checkpoint_of(folder: Path, planned: int, committed: int) -> None:
    for kind, last in (("offsets", planned), ("commits", committed)):
        (folder / "checkpoint" / kind).mkdir(parents=True, exist_ok=True)
        for batch in range(last + 1):
            (folder / "checkpoint" / kind / str(batch)).write_text(
                f'v2\n{{}}\nstream1:{{"logOffset":{batch}}}'
            )
    log = folder / "checkpoint" / "sources" / "stream1"
    log.mkdir(parents=True, exist_ok=True)
    for entry in range(planned + 1):
        (log / str(entry)).write_text("v1\n")


def log_of(folder: Path, batch: int) -> EpochLog:
    """One epoch for each micro-batch."""
    log = EpochLog(folder / "epochs")
    for epoch in range(batch + 1):
        log.commit(replace(NOTHING, epoch=epoch, batch=epoch))
    return log


def check(folder: Path, batch: int) -> None:
    check_opening(folder, log_of(folder, batch), batch, batch, -1)


@pytest.mark.parametrize(
    ("batch", "planned", "committed"),
    [(8, 8, 8), (8, 9, 8), (8, 8, 7), (-1, -1, -1), (-1, 0, -1), (0, 0, -1)],
    ids=["all done", "one planned", "one not noted as done", "nothing", "first planned", "first not noted"],
)
def test_what_a_killed_process_may_leave_is_opened(tmp_path, batch, planned, committed):
    checkpoint_of(tmp_path, planned, committed)
    check(tmp_path, batch)


def test_epochs_that_end_before_the_checkpoint_are_refused(tmp_path):
    checkpoint_of(tmp_path, 10, 10)
    told = (
        "the epochs end at 8 with micro-batch 8, Spark's checkpoint has taken in micro-batch 10: .* restore"
    )
    with pytest.raises(StateError, match=told):
        check(tmp_path, 8)


def test_a_checkpoint_without_epochs_is_refused(tmp_path):
    checkpoint_of(tmp_path, 3, 3)
    with pytest.raises(
        StateError, match="there are no epochs, Spark's checkpoint has taken in micro-batch 3"
    ):
        check(tmp_path, -1)


@pytest.mark.parametrize(("planned", "committed"), [(-1, -1), (6, 6), (7, 7)])
def test_a_checkpoint_that_is_gone_or_older_than_the_epochs_is_refused(tmp_path, planned, committed):
    checkpoint_of(tmp_path, planned, committed)
    with pytest.raises(StateError, match=r"the epochs end at 8 .* it is older than the epochs, .* restore"):
        check(tmp_path, 8)


def test_a_lost_log_of_a_source_is_refused(tmp_path):
    checkpoint_of(tmp_path, 8, 8)
    (tmp_path / "checkpoint" / "sources" / "stream1" / "4").unlink()
    with pytest.raises(StateError, match=r"sources/stream1/4 is missing"):
        check(tmp_path, 8)
    (tmp_path / "checkpoint" / "sources" / "stream1" / "5.compact").write_text("v1\n")
    check(tmp_path, 8)


def test_another_checkpoint_of_the_same_length_is_refused(tmp_path):
    checkpoint_of(tmp_path, 8, 8)
    log = log_of(tmp_path, 7)
    pin = Checkpoint(tmp_path / "checkpoint").pin(8)
    log.commit(replace(NOTHING, epoch=8, batch=8, pins={"checkpoint": pin}))
    check_opening(tmp_path, log, 8, 8, -1)
    (tmp_path / "checkpoint" / "offsets" / "8").write_text('v2\n{}\nstream1:{"logOffset":7}')
    with pytest.raises(StateError, match="the checkpoint is another's"):
        check_opening(tmp_path, log, 8, 8, -1)


def test_a_micro_batch_that_brought_nothing_is_in_the_epochs(tmp_path):
    checkpoint_of(tmp_path, 9, 9)
    log = log_of(tmp_path, 8)
    log.skip(9)
    check_opening(tmp_path, log, 8, 8, -1)


def test_epochs_that_the_catalog_knows_of_must_be_there(tmp_path):
    with pytest.raises(
        StateError, match=r"the epochs end at 4, and the catalog knows that epoch 5 was committed"
    ):
        check_opening(tmp_path, log_of(tmp_path, 4), 6, 5, -1)


def test_a_catalog_that_is_older_than_the_epochs_is_refused(tmp_path):
    with pytest.raises(StateError, match=r"catalog\.sqlite is older than the epochs"):
        check_opening(tmp_path, log_of(tmp_path, 4), 3, 3, -1)


def test_readers_that_are_ahead_of_the_epochs_are_refused(tmp_path):
    with pytest.raises(StateError, match=r"a reader has read epoch 5"):
        check_opening(tmp_path, log_of(tmp_path, 4), 5, 4, 5)
