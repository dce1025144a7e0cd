"""One-time queries under isolation `latest`: as of the epoch that is the last one when they are answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from panes.answers.answer import Answer
from panes.config import LATEST
from panes.errors import WindowMoved
from panes.history.history_store import History, write_part
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.onetime import one_time as module
from panes.onetime.one_time import OneTime
from panes.optimizer.optimizer import optimize
from panes.state.storage.epoch_log import EpochLog, EpochRecord, StreamProgress
from tests.history.test_retention import Streams
from tests.onetime.kept import numbered

DEFINED = "CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts MICROSECONDS"
ROWS = 5
"""Rows of an epoch, one at every instant."""
SUM = "SELECT count(*) AS n, sum(ts) AS total FROM s [RANGE 12 MICROSECONDS]"
JOIN = "SELECT a.ts FROM s [RANGE 3 MICROSECONDS] AS a, s [RANGE 3 MICROSECONDS] AS b WHERE a.ts = b.ts"


class Live:
    """A stream whose epochs are committed when somebody says so."""

    def __init__(self, folder: Path) -> None:
        self.log = EpochLog(folder / "epochs")
        self.history = History(folder / "history", epochs_per_base=2)
        self.streams = numbered(parse(DEFINED))
        self.one_time = OneTime(self.log, self.history, lambda: self.streams)

    def commit(self) -> None:
        epoch = self.log.last + 1
        times = list(range(epoch * ROWS, (epoch + 1) * ROWS))
        stream = self.streams["s"]
        part = write_part(self.history.folder, stream.number, epoch, 0, pa.table({"ts": times, "_ts": times}))
        self.history.note(stream, epoch, [part], rows=ROWS, max_ts=times[-1])
        progress = {stream.number: StreamProgress(clock=times[-1])}
        self.log.commit(EpochRecord(epoch, epoch, ROWS, 0.0, epoch * 1_000_000, streams=progress))
        oldest = self.log.holds.release_before(epoch - 1)
        self.history.collect(stream, epoch, oldest_ts=times[-1] - 20, retain_epochs=epoch - oldest)
        self.log.collect(oldest)

    def ask(self, sql: str, step: Callable[[Callable[[], Any]], Any] = lambda work: work()) -> Answer:
        (query,) = parse(sql)
        assert isinstance(query, SelectQuery)
        return self.one_time.answer(optimize(bind(query, Streams(DEFINED))), isolation=LATEST, step=step)

    def overtaking(self, times: int) -> Callable[[Callable[[], Any]], Any]:
        """A step during which an epoch is committed, for the first few of them."""
        left = [times]

        def step(work: Callable[[], Any]) -> Any:
            done = work()
            if left[0]:
                left[0] -= 1
                self.commit()
            return done

        return step


@pytest.fixture
def live(tmp_path: Path) -> Live:
    live = Live(tmp_path)
    for _ in range(4):
        live.commit()
    return live


def expected(live: Live) -> list[dict[str, int]]:
    now = (live.log.last + 1) * ROWS - 1
    return [{"n": 12, "total": sum(range(now - 11, now + 1))}]


@pytest.mark.parametrize("commits", [0, 1, 2, 7])
def test_an_aggregate_has_all_epochs_that_came_while_it_was_read(live: Live, commits: int) -> None:
    answer = live.ask(SUM, live.overtaking(commits))
    assert live.log.last == 3 + commits
    assert answer.epoch == live.log.last
    assert answer.to_pylist() == expected(live)


def test_files_that_were_read_are_not_read_again(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = module.FilePartials.read

    def noted(self: module.FilePartials, file: Any, now: int) -> None:
        read.append(file.min_ts)
        real(self, file, now)

    monkeypatch.setattr(module.FilePartials, "read", noted)
    assert live.ask(SUM, live.overtaking(1)).to_pylist() == expected(live)
    # The window [8, 19] becomes [13, 24]: the file from 5 on was to be read last, and has left before its turn.
    assert read == [15, 20, 10]


def test_a_join_that_is_overtaken_runs_again(live: Live) -> None:
    answer = live.ask(JOIN, live.overtaking(2))
    assert answer.epoch == live.log.last == 5
    assert sorted(row["ts"] for row in answer.to_pylist()) == [27, 28, 29]


def test_a_join_that_is_always_overtaken_is_given_up(live: Live) -> None:
    with pytest.raises(WindowMoved, match="the query was run 5 times"):
        live.ask(JOIN, live.overtaking(99))


def test_an_aggregate_that_is_overtaken_at_every_file_is_given_up(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_EPOCHS", 10)
    with pytest.raises(WindowMoved, match="10 epochs were committed before the query was answered"):
        live.ask(SUM, live.overtaking(99))


def test_before_the_first_epoch_there_is_nothing(tmp_path: Path) -> None:
    answer = Live(tmp_path).ask(SUM)
    assert (answer.as_of, answer.epoch, len(answer)) == (None, None, 0)
