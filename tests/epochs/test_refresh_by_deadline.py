"""Answers that are refreshed by deadline: as of the slides that were refreshed, and the same after a crash."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from panes import errors
from panes.clock import to_microseconds
from panes.crash_points import Crash, arm
from panes.refreshing import Refreshing
from panes.schedule.refresh_budget import RefreshBudget
from panes.testing import local

WINDOWS = {"a": (20, 5), "b": (30, 5), "c": (10, 10), "d": (60, 15)}
"""Seconds of RANGE and SLIDE."""
STREAM = "CREATE STREAM s (ts BIGINT, k INT, x INT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR"


def arrivals(since: int, until: int) -> list[dict[str, int]]:
    return [{"ts": at, "k": at * 5 % 3, "x": at * 7 % 11} for at in range(since, until)]


def expected(at: int, length: int) -> Counter[tuple[int, int, int]]:
    """The answer as of a second, over tuples of which none is late."""
    groups: dict[int, list[int]] = {}
    for row in arrivals(max(0, at - length + 1), at + 1):
        groups.setdefault(row["k"], []).append(row["x"])
    return Counter((k, len(xs), sum(xs)) for k, xs in groups.items())


class Epochs:
    """A database in which nothing has time: one answer that is due is refreshed per epoch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.second = 0
        self.db = local(folder / "db")

    def run(self, seconds: int) -> None:
        self.db.push("s", arrivals(self.second, self.second + seconds))
        self.second += seconds
        self.db.run()

    def as_of(self) -> dict[str, int]:
        """The second that each answer is of, which is right."""
        found = {}
        for name, (length, _) in WINDOWS.items():
            answer = self.db.query(name).invoke()
            at = found[name] = to_microseconds(answer.as_of) // 1_000_000
            rows = Counter(tuple(row.values()) for row in answer.to_pylist())
            assert rows == expected(at, length), (name, at)
        return found

    def refreshed(self, epoch: int | None = None) -> set[str]:
        """The queries that the last epoch, or another one, has refreshed."""
        latest = self.db._log.latest() if epoch is None else self.db._log.record(epoch)
        assert latest is not None
        names = {record.id: record.name for record in self.db._catalog.queries()}
        return {
            names[query]
            for progress in latest.queries.values()
            for query, one in progress.refreshed.items()
            if one.epoch == latest.epoch
        }

    def reopen(self) -> None:
        self.db.close()
        self.db = local(self.folder / "db")


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    live = property(lambda _: True, lambda _self, _value: None)
    monkeypatch.setattr(Refreshing, "is_live", live, raising=False)
    monkeypatch.setattr(RefreshBudget, "seconds", lambda _self, _pane_s: 0.0)


@pytest.mark.usefixtures("no_time")
def test_one_answer_at_a_time_is_refreshed_and_a_crash_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs = Epochs(tmp_path)
    epochs.db.sql(f"{STREAM}; SET refresh = 'deadline'; SET schedule = 'edf'")
    for name, (length, slide) in WINDOWS.items():
        epochs.db.sql(
            f"CREATE QUERY {name} AS SELECT k, count(*) AS n, sum(x) AS total "
            f"FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS] GROUP BY k"
        )
    epochs.db.sql("CREATE QUERY joined AS SELECT a.x FROM s [RANGE 5 SECONDS] a, s [NOW] b WHERE a.k = b.k")
    epochs.run(22)
    assert epochs.as_of() == dict.fromkeys(WINDOWS, 20), "queries that are new have an answer at once"
    epochs.run(6)
    assert epochs.refreshed() == {"a"}
    seen = [epochs.as_of()]
    for _ in range(3):
        epochs.run(5)
        assert len(epochs.refreshed()) == 1, "one that is due is refreshed whatever the budget is"
        seen.append(epochs.as_of())
    assert len(set(map(str, seen))) == 4, "each epoch has refreshed another answer, or for another slide"
    # The next epoch fails, and the database is opened anew.
    latest, records = epochs.db._log.latest(), epochs.db._catalog.queries()
    assert latest is not None
    (decided,) = epochs.db._refreshing.next(latest, records, ()).values()
    names = {record.id: record.name for record in records}
    monkeypatch.setenv("PANES_CRASH_POINTS", str(tmp_path))
    arm(tmp_path, "before commit", "raise")
    with pytest.raises((errors.PanesError, Crash)):
        epochs.run(5)
    epochs.reopen()
    epochs.db.run()
    assert epochs.refreshed(latest.epoch + 1) == {
        names[one.query] for batch in decided.batches for one in batch
    }
    epochs.as_of()
    shown = {row["name"]: row for row in epochs.db.sql("SHOW SCHEDULE").to_pylist()}
    assert {name: row["asked"] for name, row in shown.items()} == {"a": 1, "b": 1, "c": 2, "d": 3}
    assert sum(row["late"] for row in shown.values()) > 0
    status = epochs.db.status()
    assert status.refreshed["a"].asked == 1
    assert set(status.not_refreshed) == {"joined"}
    shown_text = str(epochs.db.sql("EXPLAIN d"))
    assert "refresh: after at most 3 updates of the synopsis" in shown_text
    assert "schedule 'edf'" in shown_text
    epochs.db.close()


@pytest.mark.usefixtures("no_time")
def test_the_instant_that_an_answer_names_has_that_answer_while_it_is_kept(tmp_path: Path) -> None:
    epochs = Epochs(tmp_path)
    epochs.db.sql(STREAM)
    for name, (length, slide) in WINDOWS.items():
        epochs.db.sql(
            f"CREATE QUERY {name} WITH (refresh = 'deadline') AS SELECT k, count(*) AS n, "
            f"sum(x) AS total FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS] GROUP BY k"
        )
    seen: dict[str, dict[int, Any]] = {name: {} for name in WINDOWS}
    for _ in range(6):
        epochs.run(6)
        for name in WINDOWS:
            answer = epochs.db.query(name).invoke()
            if answer.as_of is None:
                continue
            seen[name][to_microseconds(answer.as_of)] = answer
            for earlier in seen[name].values():
                again = [
                    epochs.db.query(name).invoke(as_of=earlier.as_of),
                    epochs.db.sql(f"INVOKE {name}", as_of=earlier.as_of),
                ]
                for one in again:
                    assert one.as_of == earlier.as_of, name
                    assert Counter(map(str, one.to_pylist())) == Counter(map(str, earlier.to_pylist()))
    assert any(len(answers) > 1 for answers in seen.values())
    for name in WINDOWS:
        for change in epochs.db.query(name).changes():
            assert set(change.table["_at"].to_pylist()) <= {change.as_of}
    epochs.db.close()


def test_a_run_that_may_take_its_time_refreshes_all_and_changes_add_up(tmp_path: Path) -> None:
    epochs = Epochs(tmp_path)
    epochs.db.sql(STREAM)
    for name, (length, slide) in WINDOWS.items():
        epochs.db.sql(
            f"CREATE QUERY {name} WITH (refresh = 'deadline', priority = 2) AS SELECT k, count(*) AS n, "
            f"sum(x) AS total FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS] GROUP BY k"
        )
    held: Counter[tuple[Any, ...]] = Counter()
    for seconds in (13, 4, 20):
        epochs.run(seconds)
        assert set(epochs.as_of().values()) == {(epochs.second - 1) // 5 * 5}
        for change in epochs.db.query("c").changes():
            for sign, rows in ((1, change.inserted), (-1, change.deleted)):
                for row in rows.to_pylist():
                    held[tuple(row.values())] += sign
        assert +held == expected((epochs.second - 1) // 5 * 5, WINDOWS["c"][0])
    with pytest.raises(
        errors.SqlError, match="cannot be refreshed by deadline: only aggregates of one stream"
    ):
        epochs.db.sql("CREATE QUERY e WITH (refresh = 'deadline') AS SELECT k FROM s [RANGE 5 SECONDS]")
    epochs.db.close()
