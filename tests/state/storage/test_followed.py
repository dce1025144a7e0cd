"""A log that another process writes: new epochs are seen, and what goes while it is read is noticed."""

from __future__ import annotations

import threading

import pytest

from panes.errors import EpochGone, StateError
from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.followed import FollowedLog

PATIENCE_S = 60


def record(epoch: int) -> EpochRecord:
    return EpochRecord(epoch=epoch, batch=epoch, rows=0, seconds=0.0, finished_us=0)


@pytest.fixture
def written(tmp_path):
    return EpochLog(tmp_path / "epochs")


@pytest.fixture
def followed(tmp_path):
    return FollowedLog(tmp_path / "epochs")


def test_nothing_is_made_where_there_is_no_epoch_yet(tmp_path, followed):
    assert (list(followed.epochs), followed.latest(), followed.recent(3)) == ([], None, [])
    assert list(tmp_path.iterdir()) == []


def test_epochs_come_and_go_as_the_writer_says(written, followed):
    for epoch in range(3):
        written.commit(record(epoch))
        assert followed.latest() == record(epoch)
    written.collect(1)
    assert list(followed.epochs) == [1, 2]
    assert followed.recent(5) == [record(1), record(2)]


def test_what_was_read_of_an_epoch_that_went_meanwhile_does_not_count(written, followed):
    written.commit(record(0))
    written.commit(record(1))
    with (
        pytest.raises(EpochGone, match="epoch 0 was removed while it was being read"),
        followed.holds.hold(0),
    ):
        written.collect(1)


def test_a_missing_file_of_an_epoch_that_is_there_is_damage(written, followed):
    written.commit(record(0))
    with pytest.raises(StateError, match="segment"), followed.held(lambda: 0):
        raise StateError("a segment is missing")


def test_who_waits_hears_of_an_epoch_of_another_process(written, followed):
    heard = threading.Semaphore(0)
    with followed.bell.heard_by(heard.release):
        assert heard.acquire(timeout=PATIENCE_S)
        written.commit(record(0))
        assert heard.acquire(timeout=PATIENCE_S)
