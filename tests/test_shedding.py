"""Setting and lifting the drop boxes of registered queries. No epoch is run here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import panes
from panes import shedding
from panes.optimizer.shedding.controller import Controller
from panes.shedding import Shedding
from panes.state.storage.epoch_log import NOTHING, EpochRecord, QueryProgress, StreamProgress

SECOND = 1_000_000


class Epochs:
    """A database whose epochs are committed without being run. Each takes in one second of a live stream."""

    def __init__(self, db: panes.Database) -> None:
        self.db = db
        self.shedding = Shedding(db._catalog, db._registered, db._running, db._statistics)
        self.before = NOTHING

    def run(self, count: int, seconds: float) -> EpochRecord:
        """Epochs that take so long; gives the record of the last one."""
        for _ in range(count):
            workload = self.db._running.workload(self.before, 2)
            epoch = self.before.epoch + 1
            newest = (epoch + 1) * SECOND
            queries = {
                query.known_as: QueryProgress(
                    2, 0, 0, 0, epoch=epoch, clock=newest, answer=query.place_of(query.plan.last)
                )
                for query in workload.queries
            }
            self.before = replace(
                NOTHING,
                epoch=epoch,
                rows=1000,
                seconds=seconds,
                cpu_seconds=seconds,
                finished_us=max(self.before.finished_us, newest) + int(seconds * SECOND),
                queries=queries,
                streams={n: StreamProgress(rows=epoch, max_ts=newest, clock=newest) for n in (1, 2)},
                boxes=workload.boxes,
            )
            self.db._log.commit(self.before)
            self.shedding.after(self.before)
        return self.before

    @property
    def kept(self) -> dict[int, dict[int, float]]:
        return {
            query: {stream: box.share for stream, box in boxes.items()}
            for query, boxes in self.before.boxes.items()
        }


@pytest.fixture
def epochs(tmp_path: Path) -> Iterator[Epochs]:
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        db.sql("CREATE STREAM t (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        yield Epochs(db)


def register(epochs: Epochs, **priorities: float) -> None:
    for name, priority in priorities.items():
        epochs.db.sql(
            f"CREATE QUERY {name} WITH (shed = 'auto', priority = {priority}) AS "
            "SELECT k, count(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k"
        )


def test_boxes_are_set_when_epochs_take_too_long_and_lifted_when_they_do_not(epochs: Epochs) -> None:
    register(epochs, q=1)
    epochs.run(8, 0.5)
    assert epochs.kept == {}
    epochs.run(5, 2.0)
    assert 0.01 <= epochs.kept[1][1] < 1
    assert list(epochs.kept[1]) == [1], "it has no box on a stream that it does not read"
    epochs.run(100, 0.3)
    assert epochs.kept == {}, "the steps of boxes that keep everything are left out in time"


def test_a_query_that_does_not_shed_gets_no_box(epochs: Epochs) -> None:
    epochs.db.sql("CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 9 SECONDS] GROUP BY k")
    epochs.run(20, 3.0)
    assert epochs.kept == {}


def test_of_two_queries_the_one_with_the_higher_priority_keeps_more(epochs: Epochs) -> None:
    register(epochs, low=1, high=4)
    epochs.run(8, 0.5)
    epochs.run(3, 1.5)
    assert epochs.kept[2][1] > epochs.kept[1][1]


def test_capacity_and_headroom_are_what_is_allowed(epochs: Epochs) -> None:
    register(epochs, q=1)
    epochs.run(10, 0.8)
    assert epochs.kept == {}
    epochs.db.sql("SET capacity = 0.5")
    epochs.run(5, 0.8)
    assert epochs.kept[1][1] < 1


def test_a_decision_that_fails_leaves_boxes_as_they_are_and_says_why(
    epochs: Epochs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("planted")

    register(epochs, q=1)
    epochs.run(8, 0.5)
    monkeypatch.setattr(shedding, "shares_of_plan", fail)
    epochs.run(5, 2.0)
    assert epochs.kept == {}
    assert epochs.shedding.problem == "no drop box could be set: planted"


def test_a_run_over_what_sources_hold_keeps_everything_from_its_first_epoch_on(epochs: Epochs) -> None:
    register(epochs, q=1)
    epochs.run(8, 0.5)
    epochs.run(5, 2.0)
    assert epochs.kept[1][1] < 1
    epochs.shedding.begin(epochs.before, is_live=False)
    assert epochs.db._running.workload(epochs.before, 2).boxes[1][1].share == 1


def test_boxes_stay_when_a_live_run_begins_again_until_it_has_seen_enough(epochs: Epochs) -> None:
    register(epochs, q=1)
    epochs.run(8, 0.5)
    epochs.run(5, 2.0)
    kept = epochs.kept
    epochs.shedding.begin(epochs.before, is_live=True)
    epochs.run(3, 0.1)
    assert epochs.kept == kept


def test_an_epoch_that_is_told_twice_counts_once(epochs: Epochs, monkeypatch: pytest.MonkeyPatch) -> None:
    register(epochs, q=1)
    epochs.run(8, 0.5)
    told: list[object] = []
    monkeypatch.setattr(Controller, "after", lambda _, epoch, *__: told.append(epoch))
    epochs.shedding.after(epochs.before)
    assert told == []
    epochs.run(1, 0.5)
    assert len(told) == 1
