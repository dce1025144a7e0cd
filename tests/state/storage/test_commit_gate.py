"""What can wait does while an epoch is committed."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread

import pytest

from panes.errors import DriverReplaced
from panes.state.storage.commit_gate import CommitGate
from panes.state.storage.epoch_log import NOTHING, EpochLog


def test_who_comes_during_a_commit_goes_on_after_it():
    gate, done = CommitGate(), []
    gate.wait()

    def wait() -> None:
        gate.wait()
        done.append("waited")

    with gate.shut():
        threads = [Thread(target=wait) for _ in range(3)]
        for thread in threads:
            thread.start()
        done.append("committed")
    for thread in threads:
        thread.join()
    assert done == ["committed", "waited", "waited", "waited"]


def test_the_gate_of_a_log_is_shut_until_the_epoch_is_seen(tmp_path):
    log, seen = EpochLog(tmp_path / "epochs"), []

    def wait() -> None:
        log.gate.wait()
        seen.append(log.last)

    threads = [Thread(target=wait) for _ in range(3)]

    def come(_record: object) -> None:
        for thread in threads:
            thread.start()

    log.ahead.append(come)
    log.commit(replace(NOTHING, epoch=0))
    for thread in threads:
        thread.join()
    assert seen == [0, 0, 0]


def test_a_commit_that_fails_opens_the_gate(tmp_path, monkeypatch):
    log = EpochLog(tmp_path / "epochs")

    def replaced() -> None:
        raise DriverReplaced("another driver has taken over")

    monkeypatch.setattr(log, "check_term", replaced)
    with pytest.raises(DriverReplaced):
        log.commit(replace(NOTHING, epoch=0))
    log.gate.wait()
