"""The log of epochs."""

from dataclasses import replace

from panes.state.epochs import EpochLog, EpochRecord, QueryProgress, StreamProgress


def record(epoch: int) -> EpochRecord:
    return EpochRecord(
        epoch=epoch,
        batch=epoch // 2,
        clock=epoch * 10,
        rows=3,
        seconds=0.5,
        finished_us=1_000_000 * epoch,
        streams={1: StreamProgress(rows=3, max_ts=epoch * 10, late=1, bad=0)},
        queries={7: QueryProgress(shards=2, changes=4, bytes=100, segments=3)},
    )


def test_nothing_is_committed_at_first(tmp_path):
    assert EpochLog(tmp_path / "epochs").latest() is None


def test_the_latest_epoch_comes_back_whole(tmp_path):
    log = EpochLog(tmp_path)
    for epoch in (8, 9, 10):
        log.commit(record(epoch))
    assert log.latest() == record(10)
    assert log.recent(2) == [record(9), record(10)]


def test_a_file_that_was_being_written_does_not_count(tmp_path):
    log = EpochLog(tmp_path)
    log.commit(record(1))
    (tmp_path / ".epoch-0000000002.json.99.tmp").write_text("{")
    assert log.latest() == record(1)


def test_old_epochs_are_collected(tmp_path):
    log = EpochLog(tmp_path)
    for epoch in range(5):
        log.commit(record(epoch))
    log.collect(oldest_epoch=3)
    assert [r.epoch for r in log.recent(10)] == [3, 4]


def test_a_log_that_is_opened_again_knows_all_epochs_that_are_kept(tmp_path):
    log = EpochLog(tmp_path)
    for epoch in range(30):
        log.commit(record(epoch))
    log.collect(oldest_epoch=4)
    again = EpochLog(tmp_path)
    assert again.epochs == log.epochs == range(4, 30)
    assert [again.record(epoch) for epoch in again.epochs] == [record(epoch) for epoch in range(4, 30)]


def test_an_epoch_that_is_done_again_is_one_epoch(tmp_path):
    log = EpochLog(tmp_path)
    log.commit(record(0))
    log.commit(replace(record(0), rows=4))
    assert log.epochs == range(1)
    assert log.latest() == replace(record(0), rows=4)
