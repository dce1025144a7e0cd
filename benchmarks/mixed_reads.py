"""Readers in all isolation levels beside a live run, while queries are registered, altered and dropped and a table
is changed: how long a read takes by its kind, how long epochs take, and which queries got another way meanwhile.

It is the part `mixed` of `benchmarks.isolation`. Epochs run in the process, without Spark, or on Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

import numpy as np
import pyarrow as pa

import panes
from panes import errors
from panes.testing import local

LEVELS = ("window", "snapshot", "latest")
STREAM = """
CREATE STREAM packets (ts BIGINT, link INT, src INT, bytes INT) TIMESTAMP BY ts MILLISECONDS
RETAIN INTERVAL 1 MINUTE;
CREATE TABLE links (link INT PRIMARY KEY, name STRING, weight INT)
"""
QUERIES = (
    "SELECT link, count(*) AS n, sum(bytes) AS total FROM packets [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY link",
    "SELECT src, count(*) AS n FROM packets [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY src",
    "SELECT link, max(bytes) AS most FROM packets [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY link",
    "SELECT DISTINCT link FROM packets [RANGE 10 SECONDS]",
    "SELECT name, count(*) AS n FROM packets [RANGE 5 SECONDS] p JOIN links l ON p.link = l.link GROUP BY name",
    "SELECT avg(bytes) AS mean FROM packets [RANGE 20 SECONDS SLIDE 1 SECOND]",
    "SELECT src, bytes FROM packets [RANGE 2 SECONDS] WHERE bytes >= 1490",
    "SELECT src, bytes FROM packets [RANGE 2 SECONDS] WHERE bytes < 60",
    "SELECT link, min(bytes) AS least FROM packets [ROWS 1000] GROUP BY link",
    "SELECT src, sum(bytes) AS total FROM packets [RANGE 10 SECONDS] GROUP BY src HAVING sum(bytes) > 20000",
)
ONCE = (
    "SELECT link, count(*) AS n, sum(bytes) AS total FROM packets [RANGE 7 SECONDS] GROUP BY link",
    "SELECT src, bytes FROM packets [RANGE 3 SECONDS] WHERE bytes > 1480 AND link = 3",
    "SELECT name, weight FROM links WHERE weight > 10",
)
CHANGED = "SELECT link, count(*) AS n FROM packets [RANGE {} SECONDS SLIDE 1 SECOND] GROUP BY link"
SETTLED_EPOCHS = 8
STARTING_S = 180
PUSHED_EVERY_S = 0.1
CHANGED_EVERY_S = 0.2


class Times:
    """The seconds that each kind of read took. For any number of threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.failed: dict[str, int] = {}
        self._lock = Lock()

    def note(self, kind: str, read: Callable[[], object]) -> None:
        """Measures a read. One that finds its window moved, or its query dropped, is counted."""
        began = time.perf_counter()
        failed = None
        try:
            read()
        except errors.PanesError as error:
            failed = type(error).__name__
        with self._lock:
            self.seconds.setdefault(kind, []).append(time.perf_counter() - began)
            if failed:
                self.failed[failed] = self.failed.get(failed, 0) + 1


def mixed(threads: int, seconds: float, rate: int, *, on_spark: bool) -> dict[str, float | str]:
    """What readers meet, and what epochs take, for some seconds."""
    epochs: list[float] = []
    times, stop = Times(), Event()
    with panes.connect() if on_spark else local() as db:
        db.sql(STREAM)
        db.load(
            "links", pa.table({"link": range(20), "name": [f"l{n}" for n in range(20)], "weight": range(20)})
        )
        names = [db.register(sql, name=f"q{number}").name for number, sql in enumerate(QUERIES)]
        db.start(on_epoch=lambda epoch: epochs.append(epoch.seconds))
        with _threads(stop, [lambda: _push(db, rate, stop)]):
            _wait(db, epochs)
            before = _ways(db)
            changing = [lambda: _change_queries(db, stop, times), lambda: _change_table(db, stop, times)]
            first, began = len(epochs), time.perf_counter()
            with _threads(stop, changing + _readers(db, names, threads, stop, times)):
                time.sleep(seconds)
            took = time.perf_counter() - began
        db.status()
        db.stop()
        switched = [name for name in names if _ways(db)[name] != before[name]]
    return _found(times, epochs[first + 1 :], switched, took, threads)


def _found(
    times: Times, epochs: list[float], switched: list[str], took: float, threads: int
) -> dict[str, float | str]:
    reads = {kind: found for kind, found in times.seconds.items() if not kind.startswith("change")}
    everything = [one for found in reads.values() for one in found]
    found: dict[str, float | str] = {
        "threads": threads,
        "reads per second": round(len(everything) / took, 1),
        "median of all, ms": round(1_000 * float(np.percentile(everything, 50)), 1),
        "99 % of all within, ms": round(1_000 * float(np.percentile(everything, 99)), 1),
        "the longest, ms": round(1_000 * max(everything), 1),
    }
    for kind in sorted(times.seconds):
        low, high = (round(1_000 * float(q), 1) for q in np.percentile(times.seconds[kind], (50, 99)))
        found[f"{kind}: reads, median ms, 99 % ms"] = f"{len(times.seconds[kind])}, {low}, {high}"
    found["epochs"] = len(epochs)
    found["median epoch, s"] = round(float(np.median(epochs)), 3) if epochs else 0.0
    found["longest epoch, s"] = round(max(epochs, default=0.0), 3)
    found["queries with another way"] = ", ".join(switched) or "none"
    found["reads that raised"] = (
        ", ".join(f"{n} {name}" for name, n in sorted(times.failed.items())) or "none"
    )
    return found


@contextmanager
def _threads(stop: Event, functions: list[Callable[[], None]]) -> Iterator[None]:
    """Runs functions in threads until the block ends; they end when `stop` is set."""
    running = [Thread(target=function) for function in functions]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in running:
            thread.join()


def _wait(db: panes.Database, epochs: list[float]) -> None:
    deadline = time.perf_counter() + STARTING_S
    while len(epochs) < SETTLED_EPOCHS:
        db.status()  # raises what ended the run, if something did
        if time.perf_counter() > deadline:
            raise RuntimeError(f"there were no {SETTLED_EPOCHS} epochs within {STARTING_S} seconds")
        time.sleep(0.05)


def _push(db: panes.Database, rate: int, stop: Event) -> None:
    """Pushes rows of this moment, some times per second."""
    random = np.random.default_rng(7)
    last = int(time.time() * 1_000)
    while not stop.wait(PUSHED_EVERY_S):
        now = int(time.time() * 1_000)
        count = max(1, rate * (now - last) // 1_000)
        rows = {
            "ts": np.sort(random.integers(last, max(now, last + 1), count)),
            "link": random.integers(0, 20, count).astype(np.int32),
            "src": random.zipf(1.3, count).clip(max=500).astype(np.int32),
            "bytes": random.integers(40, 1_500, count).astype(np.int32),
        }
        db.push("packets", pa.table(rows))
        last = max(now, last + 1)


def _change_queries(db: panes.Database, stop: Event, times: Times) -> None:
    """Registers, alters and drops queries in turn."""
    number = 0
    while not stop.wait(CHANGED_EVERY_S):
        name = f"changed_{number // 3}"
        if number % 3 == 0:
            times.note("change: register", lambda name=name: db.register(CHANGED.format(3), name=name))
        elif number % 3 == 1:
            times.note(
                "change: alter", lambda name=name: db.sql(f"ALTER QUERY {name} AS {CHANGED.format(4)}")
            )
        else:
            times.note("change: drop", lambda name=name: db.sql(f"DROP QUERY {name}"))
        number += 1


def _change_table(db: panes.Database, stop: Event, times: Times) -> None:
    number = 0
    while not stop.wait(CHANGED_EVERY_S):
        sql = f"UPDATE links SET weight = {number} WHERE link = {number % 20}"
        times.note("change: update", lambda sql=sql: db.sql(sql))
        number += 1


def _readers(
    db: panes.Database, names: list[str], threads: int, stop: Event, times: Times
) -> list[Callable[[], None]]:
    return [lambda place=place: _read(db, names, place, stop, times) for place in range(threads)]


def _read(db: panes.Database, names: list[str], place: int, stop: Event, times: Times) -> None:
    """Reads without pause: of ten readers six invoke queries, two ask once, and two read blocks."""
    level, number = LEVELS[place % len(LEVELS)], place

    def block() -> None:
        with db.read(level) as reads:
            reads.invoke(names[number % len(names)])
            reads.invoke(names[(number + 1) % len(names)])

    while not stop.is_set():
        if place % 10 < 6:
            name = names[number % len(names)]
            times.note(f"invoke {level}", lambda name=name: db.query(name).invoke(isolation=level))
        elif place % 10 < 8:
            sql = ONCE[number % len(ONCE)]
            times.note(f"once {level}", lambda sql=sql: db.sql(sql, isolation=level))
        else:
            times.note(f"block {level}", block)
        number += 1


def _ways(db: panes.Database) -> dict[str, str]:
    """How each query has its answer now: kept up to date, or computed on read."""
    return {record.name: record.answers.mode for record in db._catalog.queries()}
