"""Refreshes of a live stream at more load than the machine can refresh at every slide: queries refreshed per
second by each schedule, and whether any query has to wait for ever.

First a few queries run, and tell what a refresh takes. From that follows how many the machine could refresh
at every slide, each by itself. Then half as many again run, once each by itself and once together.
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
RATE, SOURCES = 2000, 1000
"""Rows per second, and the values that they are grouped by."""
WINDOWS = 20, 100
FEW = 16
"""The queries that tell what a refresh takes."""
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
    refreshed_per_s: float
    least: int
    """How many times the query was refreshed that was refreshed least often."""
    late_by: float
    """The updates by which refreshes were late, on average."""
    longest_wait: int
    """The most updates that any query had to wait."""
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


@contextmanager
def running(schedule: str, count: int) -> Iterator[panes.Database]:
    """A database with a number of queries, while rows come."""
    random = np.random.default_rng(count)
    with panes.connect() as db:
        db.sql(STREAM)
        db.sql(f"SET refresh = 'deadline'; SET schedule = '{schedule}'; SET retain_epochs = 5")
        for number in range(count):
            window = int(random.integers(WINDOWS[0], WINDOWS[1] + 1))
            slide = int(random.integers(1, window // 2 + 1))
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


def queries_at_every_slide(seconds: float) -> int:
    """How many queries the machine could refresh at every slide, each by itself."""
    with running(ALONE, FEW) as db:
        warm_up(db)
        time.sleep(seconds)
        scheduled, status = db.status().refreshed.values(), db.status()
    need = sum(one.cost / one.asked for one in scheduled) / len(scheduled)
    # What an epoch takes beside refreshes is not there for them; but a part of a long epoch is.
    left = max(1 - status.epoch_seconds, 1 / 3)
    return max(FEW, int(left / need))


def measured(schedule: str, count: int, seconds: float) -> LiveRun:
    """Runs the queries for some time after a warm-up."""
    with running(schedule, count) as db:
        warm_up(db)
        before, began = refreshes(db), time.monotonic()
        wait, epochs = 0, []
        while time.monotonic() - began < seconds:
            time.sleep(1)
            status = db.status()
            wait = max([wait, *(one.asked - one.d for one in status.refreshed.values() if one.d is not None)])
            epochs.append(status.epoch_seconds)
        after, passed = refreshes(db), time.monotonic() - began
    done = {query: one.refreshes - before[query].refreshes for query, one in after.items() if query in before}
    late = sum(one.late_by - before[query].late_by for query, one in after.items() if query in before)
    return LiveRun(
        schedule,
        count,
        round(passed, 1),
        round(sum(done.values()) / passed, 2),
        min(done.values(), default=0),
        round(late / max(1, sum(done.values())), 2),
        wait,
        round(float(np.median(epochs)), 3),
    )


def live(seconds: float, count: int | None) -> list[LiveRun]:
    """Both schedules at the load that is too high; `count` is the number of queries, else it is found."""
    most = int(LOAD * queries_at_every_slide(seconds)) if count is None else count
    return [measured(schedule, most, seconds) for schedule in (ALONE, TOGETHER)]
