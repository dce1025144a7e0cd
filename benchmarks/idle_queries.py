"""What an epoch costs when nearly all registered queries have nothing to do in it, on Spark.

    python -m benchmarks.idle_queries [--queries 1000] [--due 10] [--epochs 12] [--save]

A silent stream goes on with wall time, so rows leave the short windows in every epoch, and none leaves the long
ones. The epochs of a database that has the short windows alone are the yardstick for those of one that has the
long ones too, from one commit to the next: a silent epoch begins as soon as the one before is over. No two queries
share a plan.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from typing import Any

import numpy as np
import pyarrow as pa

import panes
from benchmarks.result_files import save
from panes.status import Epoch

NAME = "idle-queries"
AIM = 1.5
"""How many times as long an epoch may take with idle queries as without."""

STREAM = (
    "CREATE STREAM s (at TIMESTAMP, k BIGINT, x BIGINT) TIMESTAMP BY at IDLE ADVANCE; "
    "SET share_from = 1000000; SET heartbeat = 0.01; SET idle_after = 0.01; SET replan = 'never'"
)
QUERY = "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE {range}] WHERE x >= {number} GROUP BY k"
ROWS_PER_SECOND = 20
SECONDS = 300
"""How much event time the rows span: longer than the run takes."""
WARM = 4
"""Epochs that are not counted: in the first of them queries find out when they are due."""


def measure(due: int, idle: int, epochs: int) -> tuple[list[float], panes.Status]:
    """The seconds from one silent epoch to the next, with so many queries that have something due in each and so
    many that do not; and the status after them."""
    with panes.connect() as db:
        db.sql(STREAM)
        for number in range(due):
            db.register(QUERY.format(range=f"{SECONDS} SECONDS", number=number))
        for number in range(idle):
            db.register(QUERY.format(range="10 DAYS", number=number))
        count = SECONDS * ROWS_PER_SECOND
        at = time.time_ns() // 1000 - np.arange(count)[::-1] * 1_000_000 // ROWS_PER_SECOND
        rows = {"k": np.arange(count) % 50, "x": np.arange(count) % 1_000 + due + idle}
        db.push("s", pa.table({"at": pa.array(at, pa.timestamp("us", "UTC")), **rows}))
        db.run()
        ends: list[float] = []
        is_enough = threading.Event()

        def note(_epoch: Epoch) -> None:
            ends.append(time.perf_counter())
            if len(ends) > WARM + epochs:
                is_enough.set()

        db.start(on_epoch=note)
        is_enough.wait(600)
        db.stop()
        return np.diff(ends[WARM : WARM + epochs + 1]).tolist(), db.status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=1_000, help="how many are registered")
    parser.add_argument(
        "--due", type=int, default=10, help="how many of them have something due in every epoch"
    )
    parser.add_argument("--epochs", type=int, default=12, help="how many epochs are measured")
    parser.add_argument("--save", action="store_true", help="write the result file")
    args = parser.parse_args()
    measure(args.due, 0, 2)  # Spark and its workers get warm
    results: list[dict[str, Any]] = []
    for idle in (0, args.queries - args.due):
        seconds, status = measure(args.due, idle, args.epochs)
        result = {
            "due": args.due,
            "idle": idle,
            "epochs": len(seconds),
            "seconds": statistics.median(seconds),
        }
        results.append({**result, "phases": dict(status.phases)})
        phases = ", ".join(f"{name} {spent * 1e3:,.0f}" for name, spent in status.phases.items())
        print(
            f"{args.due:>6,} due, {idle:>6,} idle: {result['seconds'] * 1e3:>8,.0f} ms per epoch (median of "
            f"{len(seconds)}); the last one in ms: {phases}",
            flush=True,
        )
    print(f"ratio {results[1]['seconds'] / results[0]['seconds']:.2f}")
    if args.save:
        save(NAME, results)


if __name__ == "__main__":
    main()
