"""Threads that invoke queries without pause: how much longer epochs take because of them.

    python -m benchmarks.readers [--threads 50] [--seconds 12] [--rate 20000]

A live stream runs in the background under group-bys, a join, and selections that share one plan. Stretches without
readers and stretches with them take turns in one run, so that both meet the same machine. The benchmark prints the
median seconds of an epoch of both kinds, their ratio, and how many answers per second the threads got.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Thread

import panes
from benchmarks.live import STARTING_S, STREAM
from benchmarks.result_files import save

NAME = "readers"
TURNS = 2
"""Stretches of each kind."""
SETTLED_EPOCHS = 10
"""Epochs that are not counted: the first ones meet a cold Spark."""
QUERIES = (
    "SELECT link, count(*) AS n, sum(bytes) AS total FROM packets [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY link",
    "SELECT src, count(*) AS n FROM packets [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY src",
    "SELECT proto, max(bytes) AS most FROM packets [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY proto",
    "SELECT DISTINCT proto FROM packets [RANGE 10 SECONDS]",
    *(f"SELECT ts, src, dst FROM packets [RANGE 2 SECONDS] WHERE bytes >= {1400 + 5 * n}" for n in range(20)),
)


@dataclass(frozen=True)
class TupleBlock:
    """Some seconds of the run: the threads that read, the epochs that ended, and the answers that were read."""

    threads: int
    epochs: Sequence[float]
    answers: int
    seconds: float


def measure(threads: int, seconds: float, rate: int) -> list[TupleBlock]:
    epochs: list[float] = []
    stretches: list[TupleBlock] = []
    with panes.connect() as db:
        db.sql(f"SET share_from = 10; {STREAM.format(rate=rate)}")
        queries = [db.register(sql) for sql in QUERIES]
        db.start(on_epoch=lambda epoch: epochs.append(epoch.seconds))
        deadline = time.perf_counter() + STARTING_S
        while len(epochs) < SETTLED_EPOCHS:
            db.status()  # raises what ended the run, if something did
            if time.perf_counter() > deadline:
                raise RuntimeError(f"there were no {SETTLED_EPOCHS} epochs within {STARTING_S} seconds")
            time.sleep(0.2)
        for _ in range(TURNS):
            for some in (0, threads):
                before = len(epochs)
                answers = _read(queries, some, seconds)
                # The first epoch of a stretch began in the one before it.
                stretches.append(TupleBlock(some, epochs[before + 1 :], answers, seconds))
        db.stop()
    return stretches


def _read(queries: Sequence[panes.Query], threads: int, seconds: float) -> int:
    """Lets threads invoke the queries in turn, without pause, for some seconds; gives the number of answers."""
    stop, counts = Event(), [0] * threads

    def read(place: int) -> None:
        number = place
        while not stop.is_set():
            queries[number % len(queries)].invoke()
            number += 1
            counts[place] += 1

    readers = [Thread(target=read, args=(place,)) for place in range(threads)]
    for reader in readers:
        reader.start()
    time.sleep(seconds)
    stop.set()
    for reader in readers:
        reader.join()
    return sum(counts)


def judged(stretches: Sequence[TupleBlock], threads: int) -> dict[str, float]:
    alone = [epoch for stretch in stretches if not stretch.threads for epoch in stretch.epochs]
    read = [epoch for stretch in stretches if stretch.threads for epoch in stretch.epochs]
    answers = sum(stretch.answers for stretch in stretches)
    return {
        "threads": threads,
        "epochs_alone": len(alone),
        "epochs_with_readers": len(read),
        "median_epoch_alone_s": round(statistics.median(alone), 3),
        "median_epoch_with_readers_s": round(statistics.median(read), 3),
        "ratio": round(statistics.median(read) / statistics.median(alone), 2),
        "answers_per_s": round(answers / sum(s.seconds for s in stretches if s.threads)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=50, help="how many threads invoke without pause")
    parser.add_argument("--seconds", type=float, default=12, help="how long each of the four stretches lasts")
    parser.add_argument("--rate", type=int, default=20_000, help="rows per second of the stream")
    arguments = parser.parse_args()
    summary = judged(measure(arguments.threads, arguments.seconds, arguments.rate), arguments.threads)
    for name, value in summary.items():
        print(f"{name:<30}{value:>10}")
    save(NAME, [summary], rate=arguments.rate)


if __name__ == "__main__":
    main()
