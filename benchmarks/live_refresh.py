"""Refreshes of a live stream at more load than the machine can refresh at every slide: queries refreshed per
second by each schedule, and whether any query has to wait for ever.

First too many queries run, each refreshed by itself: how many refreshes they get per second is what the machine
can do, and from that follows how many queries it could refresh at every slide. Then half as many again run, once
each by itself and once together. What costs are the refreshes: the synopsis has some hundred thousand rows, while
few tuples come.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

import panes
from panes.state.storage.refreshed import Refreshed

NAME = "refresh-live"
STREAM = "CREATE STREAM packets (ts BIGINT, src INT, size INT) TIMESTAMP BY ts MICROSECONDS"
QUERY = (
    "SELECT src, count(*) AS n, sum(size) AS t FROM packets [RANGE {} SECONDS SLIDE {} SECONDS] GROUP BY src"
)
ALONE, TOGETHER = "edf", "hybrid_late_pending"
"""The schedules that are compared: every query by itself, and what shares most."""
RATE, SOURCES = 5000, 1000
"""Rows per second, and the values that they are grouped by: nearly all of them have a row in each pane."""
WINDOWS, SLIDES = (100, 500), (1, 30)
"""The shortest and the longest of each, in seconds; a pane is a second."""
MANY, MOST = 300, 10_000
"""The queries that are too many at first, and the most that are tried."""
LOAD = 1.5
AIM = 2.0
EVERY_S, WARM_UP = 0.25, 5
"""How often rows are pushed, and the number of epochs before anything is measured."""


@dataclass(frozen=True)
class LiveRun:
    """How a schedule did."""

    schedule: str
    queries: int
    seconds: float
    asked_per_s: float
    """Refreshes per second at which each query would be refreshed at every slide."""
    refreshed_per_s: float
    least: int
    """How many times the query was refreshed that was refreshed least often."""
    late_by: float
    """The updates by which refreshes were late, on average."""
    longest_wait: int
    """The most updates that any query had to wait from one refresh to the next."""
    latest: int
    """The most updates by which any query was late."""
    epoch_s: float


@dataclass
class Rows:
    """Pushes rows as time passes, after those of the longest window."""

    db: panes.Database
    stopped: threading.Event = field(default_factory=threading.Event)
    failure: BaseException | None = None

    def run(self) -> None:
        random = np.random.default_rng(19)
        since = time.time_ns() // 1000 - WINDOWS[1] * 1_000_000
        try:
            while True:
                until = time.time_ns() // 1000
                count = max(1, int(RATE * (until - since) / 1e6))
                ts = since + 1 + np.arange(count, dtype=np.int64) * (until - since) // count
                src, size = random.integers(0, SOURCES, count), random.integers(40, 1500, count)
                self.db.push("packets", pa.table({"ts": ts, "src": _int32(src), "size": _int32(size)}))
                since = until
                if self.stopped.wait(EVERY_S):
                    return
        except BaseException as error:
            self.failure = error


def _int32(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    return pa.array(values.astype(np.int32))


def drawn(count: int) -> list[tuple[int, int]]:
    """Windows and slides, in panes; fewer queries are the first of more."""
    random = np.random.default_rng(19)
    return [
        (int(random.integers(WINDOWS[0], WINDOWS[1] + 1)), int(random.integers(SLIDES[0], SLIDES[1] + 1)))
        for _ in range(count)
    ]


def asking(refreshes_per_pane: float) -> int:
    """How many queries ask for as many refreshes per pane."""
    asked = np.cumsum([1 / slide for _, slide in drawn(MOST)])
    return 1 + int(np.searchsorted(asked, refreshes_per_pane))


@contextmanager
def running(schedule: str, count: int) -> Iterator[panes.Database]:
    """A database with a number of queries, while rows come."""
    with panes.connect() as db:
        db.sql(STREAM)
        db.sql(f"SET refresh = 'deadline'; SET schedule = '{schedule}'; SET retain_epochs = 5")
        for number, (window, slide) in enumerate(drawn(count)):
            db.register(QUERY.format(window, slide), name=f"q{number}")
        rows = Rows(db)
        thread = threading.Thread(target=rows.run, daemon=True)
        thread.start()
        try:
            db.start()
            yield db
            db.stop()
        finally:
            rows.stopped.set()
            thread.join()
        if rows.failure is not None:
            raise rows.failure


def warm_up(db: panes.Database) -> None:
    """Waits until processes have started, and code is compiled."""
    while db.status().epoch < WARM_UP:
        time.sleep(EVERY_S)


def refreshes(db: panes.Database) -> Mapping[int, Refreshed]:
    """How far each query has been refreshed."""
    return {q: one for progress in db.status().queries.values() for q, one in progress.refreshed.items()}


def refreshes_alone(seconds: float, many: int = MANY) -> float:
    """How many queries per second the machine refreshes, each by itself, when there are too many."""
    run = measured(ALONE, many, seconds)
    if run.refreshed_per_s >= run.asked_per_s:
        return refreshes_alone(seconds, 2 * many)
    return run.refreshed_per_s


def measured(schedule: str, count: int, seconds: float) -> LiveRun:
    """Runs the queries for some time after a warm-up."""
    with running(schedule, count) as db:
        warm_up(db)
        before, began = refreshes(db), time.monotonic()
        wait, latest, epochs = 0, 0, []
        while time.monotonic() - began < seconds:
            time.sleep(1)
            status = db.status()
            left = [(one.asked, one.d) for one in status.refreshed.values() if one.d is not None]
            wait = max([wait, *(asked - until for asked, until in left)])
            latest = max([latest, *(-until for _, until in left)])
            epochs.append(status.epoch_seconds)
        after, passed = refreshes(db), time.monotonic() - began
    done = {query: one.refreshes - before[query].refreshes for query, one in after.items() if query in before}
    late = sum(one.late_by - before[query].late_by for query, one in after.items() if query in before)
    return LiveRun(
        schedule,
        count,
        round(passed, 1),
        round(sum(1 / asked for asked, _ in left), 2),
        round(sum(done.values()) / passed, 2),
        min(done.values(), default=0),
        round(late / max(1, sum(done.values())), 2),
        wait,
        latest,
        round(float(np.median(epochs)), 3),
    )


def live(seconds: float, count: int | None) -> list[LiveRun]:
    """Both schedules at the load that is too high; `count` is the number of queries, else it is found."""
    most = asking(LOAD * refreshes_alone(seconds / 2)) if count is None else count
    return [measured(schedule, most, seconds) for schedule in (ALONE, TOGETHER)]
