"""Isolation of reads: the schedulers of section 7.5 of Golab's thesis (2006), and readers beside a live run.

    python -m benchmarks.isolation [--trials 3] [--sub-windows 10,40,70,100] [--only figures,live]
        [--threads 50] [--seconds 48] [--save]
    python -m benchmarks.isolation --only mixed [--threads 50] [--seconds 20] [--rate 5000] [--spark]

* figures: 7.8 to 7.14, over files, without Spark (`benchmarks.window_schedulers`). A query over 100 sub-windows of
  length t = 1 takes about as long as t, as on the machine of the thesis; t = 5 is five times that. There are 40
  periodic queries at t = 1 and 100 at t = 5, five of which share a scan, over windows of random lengths. A run
  lasts as long as the window is. In 7.12 to 7.14 a one-time query comes every t / 5, over half of the
  window at most, and suspends others.
* live: threads that invoke queries under `latest`, and ask one-time queries, while a stream runs in the
  background: without pause, and with a tenth of a second between two reads of a thread. Prints the median seconds
  of an epoch without and with them, the aborts, and whether the recorded history passes theorem 7.2.
* mixed: threads that invoke, ask once and read blocks in all levels, while queries are registered, altered and
  dropped and a table is changed (`benchmarks.mixed_reads`). Epochs run in the process, or with --spark on Spark.
  Prints how long reads of each kind take, and which queries got another way meanwhile. It is not part of a run
  unless it is named.

Times of the figures are in periods of t = 1.
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from threading import Event, Thread

import pyarrow as pa

import panes
from benchmarks.isolation_report import draw
from benchmarks.live import STARTING_S, STREAM
from benchmarks.mixed_reads import mixed
from benchmarks.readers import QUERIES
from benchmarks.recorded_log import RecordedLog, record_reads
from benchmarks.result_files import load, save
from benchmarks.window_schedulers import SCHEDULERS, SHARED, mean, run, seconds_of_a_file
from panes import errors
from tests.reference.histories import RecordedRead, recorded_history

NAME = "isolation"
LENGTHS = {1: 40, 5: 100}
"""Periodic queries by the length of a sub-window."""
SUB_WINDOWS = (10, 40, 70, 100)
SCANNED = 120
"""The sub-windows whose reading alone takes a period of t = 1: a scheduler has more to do, and scans that queries
share have some fewer than 100."""
SETTLED_EPOCHS = 8
TURNS = 2
"""Without readers, with them, and with readers that think, one after the other, so that all meet the same
machine."""
THINKING_S = 0.1
"""Between two reads of a thread that thinks."""
ONCE = "SELECT proto, count(*) AS n, sum(bytes) AS total FROM packets [RANGE 7 SECONDS] GROUP BY proto"


@dataclass(frozen=True)
class Point:
    """One measurement: of which figure and line, at what n, how much."""

    figure: str
    curve: str
    x: float
    y: float


def figures(trials: int, sub_windows: tuple[int, ...] = SUB_WINDOWS) -> Iterator[Point]:
    """The points of all figures, averaged over trials."""
    period = SCANNED * seconds_of_a_file(1)
    for n in sub_windows:
        for length, queries in LENGTHS.items():
            groups = queries // SHARED
            runs = [
                run(n, length, groups=groups, period=length * period, seed=seed) for seed in range(trials)
            ]
            for scheduler in SCHEDULERS:
                found = [outcomes[scheduler] for outcomes in runs]
                line = f"{scheduler}, t = {length}"
                if scheduler in ("LWS", "TTU"):
                    yield Point("7.8", line, n, mean([one.aborted for one in found]))
                yield Point("7.9", line, n, mean([mean(one.staleness) for one in found]) / period)
                yield Point("7.10", line, n, mean([mean(one.between) for one in found]) / period)
                yield Point("7.11", line, n, mean([one.throughput for one in found]) * period)
        length = max(LENGTHS)
        groups = LENGTHS[length] // SHARED
        mixed = [
            run(n, length, groups=groups, period=length * period, seed=seed, one_time_every=period)
            for seed in range(trials)
        ]
        for scheduler in SCHEDULERS:
            found = [outcomes[scheduler] for outcomes in mixed]
            line = f"{scheduler}, t = {length}"
            yield Point("7.12", line, n, mean([mean(one.one_time_response) for one in found]) / period)
            yield Point("7.13", line, n, mean([mean(one.one_time_staleness) for one in found]) / period)
            yield Point("7.14", line, n, mean([mean(one.staleness) for one in found]) / period)


def live(threads: int, seconds: float, rate: int) -> dict[str, float]:
    """What readers at `latest` do to the epochs of a live run, and whether what they read was the latest."""
    epochs: list[float] = []
    alone: list[float] = []
    beside: list[float] = []
    thinking: list[float] = []
    reads: list[RecordedRead] = []
    aborts: list[errors.WindowMoved] = []
    with panes.connect() as db:
        db.sql(STREAM.format(rate=rate))
        queries = [db.register(sql) for sql in QUERIES]
        log = record_reads(db)
        db.start(on_epoch=lambda epoch: epochs.append(epoch.seconds))
        deadline = time.perf_counter() + STARTING_S
        while len(epochs) < SETTLED_EPOCHS:
            db.status()  # raises what ended the run, if something did
            if time.perf_counter() > deadline:
                raise RuntimeError(f"there were no {SETTLED_EPOCHS} epochs within {STARTING_S} seconds")
            time.sleep(0.2)
        for _ in range(TURNS):
            for readers, pause, found in (
                (0, 0.0, alone),
                (threads, 0.0, beside),
                (threads, THINKING_S, thinking),
            ):
                before = len(epochs)
                _read(db, queries, log, readers, pause, seconds / (3 * TURNS), reads, aborts)
                # The first epoch of a turn began in the one before it.
                found += epochs[before + 1 :]
        times = db.status().reads["latest"]
        db.stop()
    history = recorded_history(sorted(set(reads)))
    staleness = times.staleness_seconds
    assert staleness is not None
    return {
        "threads": threads,
        "reads": len(reads),
        "aborts": len(aborts),
        "reads that an epoch overtook": sum(read.ended > read.began for read in reads),
        "passes theorem 7.2": float(
            history.is_latest_window_serializable() and history.reads_the_latest_window()
        ),
        "median epoch without readers, s": round(statistics.median(alone), 3),
        "median epoch with readers, s": round(statistics.median(beside), 3),
        "ratio": round(statistics.median(beside) / statistics.median(alone), 2),
        "median epoch with readers that think 0.1 s, s": round(statistics.median(thinking), 3),
        "ratio with readers that think": round(statistics.median(thinking) / statistics.median(alone), 2),
        "epochs measured": len(alone) + len(beside) + len(thinking),
        "median response, ms": round(1_000 * times.response_seconds.median, 2),
        "99 % of responses within, ms": round(1_000 * times.response_seconds.p99, 2),
        "median staleness, s": round(staleness.median, 3),
        "99 % of staleness within, s": round(staleness.p99, 3),
    }


def _read(
    db: panes.Database,
    queries: Sequence[panes.Query],
    log: RecordedLog,
    threads: int,
    pause: float,
    seconds: float,
    reads: list[RecordedRead],
    aborts: list[errors.WindowMoved],
) -> None:
    """Lets threads read under `latest`, in turn and with a pause after each read, for some seconds; one of ten
    asks one-time queries."""
    stop = Event()

    def asked() -> panes.Answer:
        answer = db.sql(ONCE, isolation="latest")
        assert isinstance(answer, panes.Answer)
        return answer

    def read(place: int) -> None:
        number = place
        while not stop.is_set():
            query = queries[number % len(queries)]
            number += 1
            try:
                one = asked if place % 10 == 0 else partial(query.invoke, isolation="latest")
                reads.append(log.recorded(one))
            except errors.WindowMoved as error:
                aborts.append(error)
            stop.wait(pause)

    readers = [Thread(target=read, args=(place,)) for place in range(threads)]
    for reader in readers:
        reader.start()
    time.sleep(seconds)
    stop.set()
    for reader in readers:
        reader.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--trials", type=int, default=3, help="how many runs the points of figures are means of"
    )
    parser.add_argument(
        "--sub-windows",
        default=",".join(map(str, SUB_WINDOWS)),
        help="the n of the points to measure, with commas between; others stay as they were measured",
    )
    parser.add_argument("--only", default="figures,live", help="parts to run, with commas between")
    parser.add_argument("--threads", type=int, default=50, help="how many threads read without pause")
    parser.add_argument("--seconds", type=float, default=48, help="how long the live run is measured")
    parser.add_argument(
        "--rate", type=int, default=20_000, help="rows per second of the stream of the live run"
    )
    parser.add_argument("--spark", action="store_true", help="run the epochs of the part mixed on Spark")
    parser.add_argument("--save", action="store_true", help="write the result file and the charts")
    args = parser.parse_args()
    pa.set_cpu_count(1)
    before = load(NAME) or {"results": [], "live": {}}
    points, found = before["results"], before["live"]
    parts = args.only.split(",")
    if "figures" in parts:
        wanted = tuple(int(n) for n in args.sub_windows.split(","))
        points = [point for point in points if point["x"] not in wanted]
        for point in figures(args.trials, wanted):
            print(f"{point.figure:6} {point.curve:16} {point.x:>6} {point.y:>12,.4f}", flush=True)
            points.append(asdict(point))
    if "live" in parts:
        found = live(args.threads, args.seconds, args.rate)
        for name, value in found.items():
            print(f"{name:<36}{value:>12}")
    if "mixed" in parts:
        beside = mixed(args.threads, args.seconds, args.rate, on_spark=args.spark)
        for name, value in beside.items():
            print(f"{name:<48}{value}")
    if args.save:
        save(NAME, points, live=found, trials=args.trials)
        draw(points)


if __name__ == "__main__":
    main()
