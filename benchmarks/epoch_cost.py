"""What an epoch costs over a small window and over a large one, at the same rate of arrivals, on Spark.

    python -m benchmarks.epoch_cost [--rows 100000 10000000]

For each size the window is filled in a few large epochs; then come small ones of equal size, whose median is told.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import panes

if TYPE_CHECKING:
    from panes.spark.session import SparkSession

QUERIES = {
    "selection": "SELECT k, x FROM s [RANGE {range} SECONDS] WHERE x < 100",
    "group-by": "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE {range} SECONDS] GROUP BY k",
    "distinct": "SELECT DISTINCT k FROM s [RANGE {range} SECONDS]",
    "join": "SELECT a.k, b.x FROM s [RANGE {range} SECONDS] AS a, s [NOW] AS b WHERE a.k = b.k AND b.x < 5",
}
PER_EPOCH = 20_000
"""Rows of a small epoch."""
EPOCHS = 12
RATE = 1_000
"""Rows per second of event time."""


def write(folder: Path, window: int) -> None:
    """Files that fill the window, then small ones."""
    random = np.random.default_rng(1)
    filling = max(1, window // 1_000_000)
    sizes = [window // filling] * filling + [PER_EPOCH] * EPOCHS
    start = 0
    for number, size in enumerate(sizes):
        table = pa.table(
            {
                "ts": (start + np.arange(size)) * 1_000_000 // RATE,
                "k": random.integers(0, max(100, window // 100), size),
                "x": random.integers(0, 1_000, size),
            }
        )
        start += size
        path = folder / f"{number:04d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (number, number))


def measure(session: SparkSession, query: str, window: int) -> float:
    """Median seconds of the small epochs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "in"
        folder.mkdir()
        write(folder, window)
        with panes.connect(Path(name) / "db", spark=session) as db:
            db.sql(
                "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts MICROSECONDS "
                f"FROM FILES '{folder}' WITH (files_per_epoch = 1)"
            )
            db.register(query.format(range=window // RATE))
            seconds = []
            db.run(on_epoch=lambda epoch: seconds.append((epoch.rows, epoch.seconds)))
            small = [took for rows, took in seconds if rows == PER_EPOCH]
            return statistics.median(small[2:])


def main() -> None:
    from panes.spark.session import local_session

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[100_000, 10_000_000], help="rows in the window"
    )
    parser.add_argument("--only", choices=QUERIES, help="one query alone")
    arguments = parser.parse_args()
    session = local_session()
    measure(session, QUERIES["selection"], 10_000)  # Spark and its workers get warm
    print(f"seconds per epoch of {PER_EPOCH:,} rows, by rows in the window (median of {EPOCHS - 2} epochs)")
    print(f"{'query':<12}" + "".join(f"{rows:>14,}" for rows in arguments.rows) + f"{'ratio':>9}")
    for name, query in QUERIES.items():
        if arguments.only in (None, name):
            took = [measure(session, query, rows) for rows in arguments.rows]
            row = "".join(f"{seconds:>14.2f}" for seconds in took)
            print(f"{name:<12}{row}{took[-1] / took[0]:>8.2f}x", flush=True)


if __name__ == "__main__":
    main()
