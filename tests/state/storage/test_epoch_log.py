"""The log of epochs."""

from dataclasses import replace
from pathlib import Path

import pytest

from panes.errors import DriverReplaced, StateError
from panes.state.storage.epoch_log import (
    NOTHING,
    EpochLog,
    EpochRecord,
    MissingRows,
    QueryProgress,
    StreamProgress,
)
from panes.state.storage.epoch_states import StagePlace
from panes.state.storage.followed import FollowedLog
from panes.state.storage.terms import Term, terms_begun


def record(epoch: int) -> EpochRecord:
    return EpochRecord(
        epoch=epoch,
        batch=epoch // 2,
        rows=3,
        seconds=0.5,
        finished_us=1_000_000 * epoch,
        streams={4: StreamProgress(rows=3, max_ts=epoch * 10, late=1, bad=0, clock=epoch * 10 - 1)},
        queries={7: QueryProgress(2, 4, 100, 3, epoch=epoch, before=epoch - 1, since=epoch - 1, clock=epoch)},
        missing={7: {4: MissingRows(to=5, rows=2, brought=1)}},
    )


def test_nothing_is_committed_at_first(tmp_path):
    assert EpochLog(tmp_path / "epochs").latest() is None


def test_the_number_of_the_last_epoch_follows_commits_and_not_collection(tmp_path):
    log = EpochLog(tmp_path / "epochs")
    assert log.last == -1
    for epoch in (0, 1, 2):
        log.commit(record(epoch))
        assert log.last == epoch
    log.collect(oldest_epoch=2)
    assert log.last == EpochLog(tmp_path / "epochs").last == 2


def test_the_latest_epoch_comes_back_whole(tmp_path):
    log = EpochLog(tmp_path)
    for epoch in (8, 9, 10):
        log.commit(record(epoch))
    assert log.latest() == record(10)
    assert log.recent(2) == [record(9), record(10)]


def test_what_ran_a_query_is_found_by_plan_and_query():
    old, new = (QueryProgress(2, 0, 0, 0, answer=StagePlace(plan, 0, 0, True)) for plan in (7, 9))
    both, after = (replace(NOTHING, queries=queries) for queries in ({7: old, 9: new}, {7: new}))
    assert (both.progress_of(7, 7), both.progress_of(9, 7)) == (old, new)
    assert (after.progress_of(7, 8), after.progress_of(9, 7), after.progress_of(9, 8)) == (new, new, None)


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


# Damage.


def log_of(folder, *, rows: int = 3) -> EpochLog:
    """A log of six epochs."""
    log = EpochLog(folder)
    for epoch in range(6):
        log.commit(replace(record(epoch), rows=rows))
    return log


def test_a_lost_record_in_the_midst_is_missing_and_the_others_are_there(tmp_path):
    log_of(tmp_path).path(3).unlink()
    again = EpochLog(tmp_path)
    assert again.epochs == range(6)
    assert again.latest() == record(5)
    with pytest.raises(StateError, match=r"epoch-0000000003\.json is missing"):
        again.record(3)
    with pytest.raises(StateError, match=r"epoch-0000000003\.json is missing"):
        again.record(1)  # nothing says any more that it belongs to those after it


def test_a_record_of_another_copy_of_the_log_is_refused(tmp_path):
    log = log_of(tmp_path / "log")
    other = log_of(tmp_path / "other", rows=4)
    log.path(3).write_bytes(other.path(3).read_bytes())
    again = EpochLog(tmp_path / "log")
    assert again.record(4) == record(4)
    with pytest.raises(StateError, match=r"epoch-0000000003\.json is not the record that belongs here"):
        again.record(3)


def test_a_record_copied_over_another_is_refused(tmp_path):
    log = log_of(tmp_path)
    log.path(5).write_bytes(log.path(4).read_bytes())
    with pytest.raises(StateError, match=r"epoch-0000000005\.json is another record: 'epoch 4 of "):
        EpochLog(tmp_path).latest()


def test_records_of_another_database_are_refused(tmp_path):
    log_of(tmp_path)
    with pytest.raises(StateError, match=r"epoch-0000000005\.json is another record"):
        EpochLog(tmp_path, "another").latest()


def test_the_chain_goes_on_after_the_log_is_opened_again(tmp_path):
    log_of(tmp_path)
    again = EpochLog(tmp_path)
    again.commit(record(6))
    again.collect(oldest_epoch=2)
    last = EpochLog(tmp_path)
    assert [last.record(epoch) for epoch in last.epochs] == [record(epoch) for epoch in range(2, 7)]


def test_micro_batches_that_brought_nothing_are_remembered(tmp_path):
    log = EpochLog(tmp_path)
    assert log.last_batch() == -1
    log.skip(0)
    assert EpochLog(tmp_path).last_batch() == 0
    log.commit(record(5))
    assert EpochLog(tmp_path).last_batch() == 2
    log.skip(3)
    assert EpochLog(tmp_path).last_batch() == 3


def test_an_old_driver_cannot_commit_once_another_has_come(tmp_path):
    old, term = taken(tmp_path)
    old.commit(replace(NOTHING, epoch=0))
    new, _ = taken(tmp_path)
    with pytest.raises(DriverReplaced, match="another driver has taken over"):
        old.commit(replace(NOTHING, epoch=1, rows=1))
    new.commit(replace(NOTHING, epoch=1, rows=2))
    assert [record.rows for record in EpochLog(tmp_path / "epochs").recent(5)] == [0, 2]
    assert term.later() is not None


def test_what_an_old_driver_commits_after_the_claim_does_not_count(tmp_path):
    old, term = taken(tmp_path)
    old.commit(replace(NOTHING, epoch=0))
    claimed = Term.claim(tmp_path / "terms")
    new = EpochLog(tmp_path / "epochs")
    new.take(claimed)
    # It looked for other drivers before the claim, and puts its record down after it.
    old._term = Blind(tmp_path / "terms", term.name)
    old.commit(replace(NOTHING, epoch=1, rows=1))
    assert list(EpochLog(tmp_path / "epochs").epochs) == [0]
    new.commit(replace(NOTHING, epoch=1, rows=2))
    assert EpochLog(tmp_path / "epochs").record(1).rows == 2
    assert FollowedLog(tmp_path / "epochs").record(1).rows == 2


def test_what_an_old_driver_committed_before_the_claim_counts(tmp_path):
    old, _ = taken(tmp_path)
    old.commit(replace(NOTHING, epoch=0, rows=7))
    new, _ = taken(tmp_path)
    assert new.record(0).rows == 7
    new.commit(replace(NOTHING, epoch=1))
    assert [record.epoch for record in EpochLog(tmp_path / "epochs").recent(5)] == [0, 1]


def test_a_commit_that_another_driver_overtakes_is_told_to_nobody(tmp_path, monkeypatch):
    log, term = taken(tmp_path)
    looks = iter([None, "00000009-ffffffff"])
    monkeypatch.setattr(term, "later", lambda: next(looks))
    with pytest.raises(DriverReplaced):
        log.commit(replace(NOTHING, epoch=0))
    assert log.latest() is None


def test_terms_of_which_no_epoch_is_kept_are_removed(tmp_path):
    for epoch in range(5):
        log, _ = taken(tmp_path)
        log.commit(replace(NOTHING, epoch=epoch))
        log.collect(epoch - 1)
    log, _ = taken(tmp_path)
    assert list(log.epochs) == [3, 4]
    assert [begun.after for begun in terms_begun(tmp_path / "terms")] == [2, 3, 4]
    assert log.record(3).epoch == 3


class Blind(Term):
    """Does not see that others have come."""

    def later(self) -> None:
        return None


def taken(folder: Path) -> tuple[EpochLog, Term]:
    term = Term.claim(folder / "terms")
    log = EpochLog(folder / "epochs")
    log.take(term)
    return log, term
