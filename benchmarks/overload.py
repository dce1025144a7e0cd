"""A live stream at three times what the machine can do: how far answers are behind, and how good they are.

    python -m benchmarks.overload [--seconds 300] [--rate 0]

First the capacity is measured: rates grow until answers that must be exact fall behind. Then the same queries may
shed. They get half of that rate, three times of it for so many seconds, and half of it again. While that goes on,
answers are read, and how far they are behind and how much memory all processes use is noted. In the end, the true
values of all answers that were read are computed from the rows that the history of the streams holds.
"""

from __future__ import annotations

import argparse
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import panes
from benchmarks import charts
from benchmarks.memory import megabytes_now
from benchmarks.result_files import save
from panes.clock import to_microseconds

NAME = "overload"
STREAMS = ("a", "b")
STREAM = (
    "CREATE STREAM {} (ts BIGINT, x INT, y INT, v INT) TIMESTAMP BY ts MICROSECONDS RETAIN INTERVAL 1 HOUR"
)
QUERIES = {
    "joined": "SELECT a.x, count(*) AS n, sum(b.v) AS total FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] "
    "WHERE a.y = b.y GROUP BY a.x",
    "averages": "SELECT b.x, avg(a.v) AS mean FROM a [RANGE 3 SECONDS], b [RANGE 3 SECONDS] "
    "WHERE a.y = b.y AND a.v < 500 GROUP BY b.x",
    "counted": "SELECT x, count(*) AS n, sum(v) AS total, avg(v) AS mean FROM a [RANGE 5 SECONDS] GROUP BY x",
}
GROUPS, VALUES = 10, 1000
FEW, WARM_UP = 20.0, 10
"""Rows per second while processes start and code is compiled, and the number of epochs for which that lasts."""
EVERY_S = 0.25
"""How often rows are pushed."""
GROWTH, STEP_S = 1.5, 15.0
"""By which factor rates grow while the capacity is looked for, and how long each is kept."""
BEHIND_S = 2.0
"""Answers that are further behind are too late."""
REST, OVERLOAD = 0.5, 3.0
"""The rate before and after, and the rate that is too high, as multiples of the capacity."""
REST_S, REACTION_S, AFTER_S = 25.0, 20.0, 90.0
"""Seconds at the rate that fits, those that the first reaction may take, and those at the rate that fits again."""


@dataclass
class Rows:
    """Pushes rows to both streams, as many per second as it is told, with the time at which they were made."""

    db: panes.Database
    rate: float
    _stop: threading.Event = field(default_factory=threading.Event)
    failure: BaseException | None = None

    def run(self) -> None:
        random = np.random.default_rng(5)
        drawn = {name: random.integers(0, most, 1 << 20).astype(np.int32) for name, most in _DRAWN.items()}
        place, since = 0, time.time_ns() // 1000
        try:
            while not self._stop.wait(EVERY_S):
                until = time.time_ns() // 1000
                count = max(1, int(self.rate * (until - since) / 1e6))
                ts = since + 1 + np.arange(count, dtype=np.int64) * (until - since) // count
                for stream in STREAMS:
                    place = (place + count) % ((1 << 20) - count)
                    columns = {name: values[place : place + count] for name, values in drawn.items()}
                    self.db.push(stream, pa.table({"ts": ts, **columns}))
                since = until
        except BaseException as error:
            self.failure = error

    @contextmanager
    def pushed(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        if self.failure is not None:
            raise self.failure


_DRAWN = {"x": GROUPS, "y": VALUES, "v": 1000}


@dataclass(frozen=True)
class Moment:
    """After an epoch: seconds since rows began to come, their rate, how long the epoch took, and how far the
    answers were behind."""

    at: float
    rate: float
    epoch_s: float
    lag_s: float


@dataclass(frozen=True)
class Read:
    """An answer that was read, with the seconds since rows began to come."""

    at: float
    query: str
    answer: panes.Answer


@dataclass
class Watched:
    """What was seen of a run."""

    moments: list[Moment] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)
    kept: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)
    """The share that each box keeps, by its query and stream."""


@contextmanager
def running(shed: str) -> Iterator[tuple[panes.Database, Rows, Watched]]:
    """A database whose queries run, with rows that come."""
    watched, began = Watched(), time.time()
    with panes.connect() as db:
        for stream in STREAMS:
            db.sql(STREAM.format(stream))
        db.sql(f"SET shed = '{shed}'; SET retain_epochs = 10")
        for name, sql in QUERIES.items():
            db.register(sql, name=name)
        rows = Rows(db, FEW)

        def note(epoch: panes.Epoch) -> None:
            now = time.time()
            if epoch.clock is not None and epoch.rows:
                lag = now - epoch.clock.timestamp()
                watched.moments.append(Moment(now - began, rows.rate, epoch.seconds, lag))

        with rows.pushed():
            db.start(on_epoch=note)
            while len(watched.moments) < WARM_UP:
                time.sleep(0.5)
                db.status()  # raises what ended the run, if something did
            yield db, rows, watched
        db.stop()


def capacity(first: float) -> float:
    """The highest rate of each stream at which exact answers are not late."""
    with running("never") as (db, rows, watched):
        rate = first
        while True:
            rows.rate = rate
            began = time.time()
            seen = len(watched.moments)
            while time.time() - began < STEP_S:
                time.sleep(1)
                db.status()
            # The first half of the time windows fill, and may still hold rows of the rate before.
            found = watched.moments[seen:]
            lags = [moment.lag_s for moment in found[len(found) // 2 :]]
            print(
                f"  {rate:>10,.0f} rows/s: {np.median(lags):.2f} s behind" if lags else "  no epoch",
                flush=True,
            )
            if not lags or np.median(lags) > BEHIND_S:
                return rate / GROWTH
            rate *= GROWTH


def watch(
    limit: float, seconds: float
) -> tuple[Watched, dict[str, tuple[float, float]], dict[str, pa.Table]]:
    """A run with too much load: what was seen, when each phase began and ended, and all rows of the streams."""
    with running("auto") as (db, rows, watched):
        origin = time.time() - watched.moments[-1].at
        phases = {"before": (REST, REST_S), "during": (OVERLOAD, seconds), "after": (REST, AFTER_S)}
        bounds: dict[str, tuple[float, float]] = {}
        for phase, (times, length) in phases.items():
            rows.rate = times * limit
            start = time.time()
            while time.time() - start < length:
                _look(db, watched, origin)
                time.sleep(1)
            bounds[phase] = start - origin, time.time() - origin
            print(f"  {phase}: {watched.kept[-1][1]}", flush=True)
        rows.rate = 1.0
        # No box is on one-time queries: they read what history holds, which is all that came.
        return (
            watched,
            bounds,
            {name: db.sql(f"SELECT * FROM {name} [RANGE 1 HOUR]").table for name in STREAMS},
        )


def _look(db: panes.Database, watched: Watched, origin: float) -> None:
    """Reads all answers, and notes memory and boxes."""
    for name in QUERIES:
        answer = db.query(name).invoke()
        watched.reads.append(Read(time.time() - origin, name, answer))
    status = db.status()
    now = time.time() - origin
    watched.memory.append((now, megabytes_now()))
    boxes = {
        f"{query} of {stream}": share for query, some in status.kept.items() for stream, share in some.items()
    }
    watched.kept.append((now, boxes))


@dataclass(frozen=True)
class Judged:
    """How good an answer was: the values with an interval, those of them that hold the true value, and whether the
    answer was exact."""

    at: float
    query: str
    kept: float
    values: int
    inside: int
    is_exact: bool
    width: float
    """The median half width of the intervals, as a share of the true values."""


class Truth:
    """Computes answers from all rows."""

    def __init__(self, rows: Mapping[str, pa.Table]) -> None:
        self._duckdb = duckdb.connect()
        for name, table in rows.items():
            self._duckdb.register(f"all_{name}", table)
            self._duckdb.execute(f"CREATE TABLE {name} AS SELECT * FROM all_{name} ORDER BY ts")

    def of(self, query: str, instant: int) -> dict[int, dict[str, float]]:
        """The answer of a query at an instant, by the value of its key."""
        text = QUERIES[query]
        for stream in STREAMS:
            text = re.sub(
                rf"\b{stream} \[RANGE (\d+) SECONDS\]",
                rf"(SELECT * FROM {stream} WHERE ts > {instant} - \1 * 1000000 AND ts <= {instant}) AS {stream}",
                text,
            )
        return by_key(self._duckdb.sql(text).to_arrow_table())


def by_key(answer: pa.Table) -> dict[int, dict[str, float]]:
    """The rows of an answer by the value of their key."""
    return {row["x"]: {name: float(value) for name, value in row.items()} for row in answer.to_pylist()}


def judged(read: Read, truth: Truth) -> Judged | None:
    """How good an answer was; None for one without an instant."""
    answer = read.answer
    if answer.as_of is None or answer.error is None:
        return None
    true = truth.of(read.query, to_microseconds(answer.as_of))
    widths, hits = [], 0
    for row in answer.error.to_pylist():
        for column in answer.table.column_names[1:]:
            low, high = row[f"{column}_low"], row[f"{column}_high"]
            if low is not None:
                expected = true.get(row["x"], {}).get(column, float("nan"))
                widths.append((high - low) / 2 / expected)
                hits += low <= expected <= high
    is_exact = not answer.is_partial and by_key(answer.table) == true
    return Judged(
        read.at,
        read.query,
        min(answer.kept.values(), default=1.0),
        len(widths),
        hits,
        is_exact,
        float(np.median(widths)) if widths else 0.0,
    )


def summary(
    watched: Watched, bounds: Mapping[str, tuple[float, float]], answers: Sequence[Judged]
) -> dict[str, Any]:
    """The figures by which the run is judged."""
    (begin, end), (_, last) = bounds["during"], bounds["after"]
    settled = [m for m in watched.moments if begin + REACTION_S <= m.at < end]
    first = [m.lag_s for m in watched.moments if begin <= m.at < begin + REACTION_S]
    shed = [a for a in answers if a.values and begin <= a.at]
    memory = [megabytes for at, megabytes in watched.memory if begin + REACTION_S <= at < end]
    half = len(memory) // 2
    exact_from = max((a.at for a in answers if not a.is_exact), default=end)
    return {
        "largest_lag_s": round(max(m.lag_s for m in settled), 2),
        "median_lag_s": round(float(np.median([m.lag_s for m in settled])), 2),
        "largest_lag_at_first_s": round(max(first, default=0.0), 2),
        "largest_epoch_s": round(max(m.epoch_s for m in settled), 2),
        "answers_shed": len(shed),
        "values_shed": sum(a.values for a in shed),
        "inside": round(sum(a.inside for a in shed) / max(1, sum(a.values for a in shed)), 4),
        "inside_by_query": {
            name: round(
                sum(a.inside for a in shed if a.query == name)
                / max(1, sum(a.values for a in shed if a.query == name)),
                4,
            )
            for name in QUERIES
        },
        "width_by_query": {
            name: round(float(np.median([a.width for a in shed if a.query == name] or [0.0])), 4)
            for name in QUERIES
        },
        "megabytes_first_half": round(float(np.mean(memory[:half] or [0.0]))),
        "megabytes_second_half": round(float(np.mean(memory[half:] or [0.0]))),
        "exact_again_after_s": round(exact_from - end, 1),
        "exact_at_the_end": all(a.is_exact for a in answers if a.at > last - 5),
        "changes_of_boxes": sum(one[1] != other[1] for one, other in pairwise(watched.kept)),
    }


def draw(watched: Watched, answers: Sequence[Judged]) -> None:
    """How far answers are behind, what boxes keep, how wide intervals are, and memory, over time."""
    boxes = sorted({box for _, kept in watched.kept for box in kept})
    panels = {
        ("answers are behind", "seconds"): {"lag": [(m.at, m.lag_s) for m in watched.moments]},
        ("boxes keep", "%"): {
            box: [(at, 100 * kept.get(box, 1.0)) for at, kept in watched.kept] for box in boxes
        },
        ("half width of intervals", "% of the value"): {
            name: [(a.at, 100 * a.width) for a in answers if a.query == name] for name in QUERIES
        },
        ("rows come", "rows/s of each stream"): {"rate": [(m.at, m.rate) for m in watched.moments]},
        ("memory of all processes", "MB"): {"memory": watched.memory},
    }
    charts.lines(
        NAME,
        [
            charts.Panel(title, lines, "seconds", unit, is_log_x=False, is_log_y=False)
            for (title, unit), lines in panels.items()
        ],
    )


def run(limit: float, seconds: float, *, is_saved: bool) -> None:
    watched, bounds, rows = watch(limit, seconds)
    truth = Truth(rows)
    answers = [
        found for read in watched.reads[:: 2 * len(QUERIES) - 1] if (found := judged(read, truth)) is not None
    ]
    found = summary(watched, bounds, answers)
    for name, value in found.items():
        print(f"{name:<26}{value}")
    if is_saved:
        save(
            NAME,
            [{k: round(v, 3) for k, v in asdict(m).items()} for m in watched.moments],
            rate=limit,
            seconds=seconds,
            bounds=bounds,
            summary=found,
        )
        draw(watched, answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="of too much load")
    parser.add_argument("--rate", type=float, default=0, help="rows per second of each stream that just fit")
    parser.add_argument(
        "--first", type=float, default=2000, help="the first rate that is tried for the capacity"
    )
    parser.add_argument("--save", action="store_true", help="write the result file and the chart")
    arguments = parser.parse_args()
    print("capacity")
    limit = arguments.rate or capacity(arguments.first)
    print(f"three times {limit:,.0f} rows/s of each of two streams")
    run(limit, arguments.seconds, is_saved=arguments.save)


if __name__ == "__main__":
    main()
