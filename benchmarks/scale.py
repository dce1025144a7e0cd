"""What the driver does per epoch, and what is written, by the number of shards.

    python -m benchmarks.scale [--shards 16 64 256 1024] [--queries 1 100] [--epochs 4]

Tiny epochs run on this machine with as many shards as a large cluster has cores. What is measured is what does not
get faster with more machines, in CPU time where it can be, because that is the same on a machine that others use:

* the CPU time of the driver's Python: planning, reading what tasks report, committing;
* that of a task, however few rows it has;
* the CPU time in which Spark hands out and takes back as many empty tasks, with a shuffle between them;
* the files that an epoch writes, their bytes, and the bytes of its record.

Ends with an error when one of them grows faster than the number of shards.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import panes
from benchmarks.result_files import save
from tests.faults.processes import descendants

if TYPE_CHECKING:
    from panes.spark.session import SparkSession

NAME = "scale"
SHARDS = (16, 64, 256, 1024)
QUERIES = (1, 100)
EPOCHS = 4
ROWS_PER_SHARD = 4
RANGE_S = 30
NOT_STATE = ("checkpoint", "exchange", "in")
"""Folders beside those that an epoch writes for good."""


@dataclass(frozen=True)
class Point:
    """An epoch with so many shards and queries: the median of some."""

    shards: int
    queries: int
    python_s: float
    """CPU time of the driver's Python."""
    scheduling_s: float
    """CPU time of Spark, for as many empty tasks."""
    tasks_s: float
    """CPU time of all tasks together, in Python and in Java."""
    epoch_s: float
    files: int
    bytes: int
    record_bytes: int

    @property
    def driver_s(self) -> float:
        return self.python_s + self.scheduling_s


def write_epochs(folder: Path, shards: int, epochs: int) -> None:
    """A file per epoch, with some rows for every shard."""
    random = np.random.default_rng(shards)
    rows = ROWS_PER_SHARD * shards
    for epoch in range(epochs):
        table = pa.table(
            {
                "ts": epoch * 10_000 + np.sort(random.integers(0, 10_000, rows)),
                "k": random.integers(0, 16 * shards, rows),
                "x": random.integers(0, 1_000, rows),
            }
        )
        path = folder / f"{epoch:03d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (epoch, epoch))


def measure(session: SparkSession, shards: int, queries: int, epochs: int) -> Point:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        write_epochs(folder / "in", shards, epochs)
        with panes.connect(folder / "db", spark=session) as db:
            db.sql(
                f"SET shards = {shards}; SET share_from = 1000000; "
                "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts MILLISECONDS "
                f"FROM FILES '{folder / 'in'}' WITH (files_per_epoch = 1)"
            )
            for number in range(queries):
                # None is like another, so that each has operators and a state of its own.
                window = f"[RANGE {RANGE_S + number} SECONDS SLIDE 1 SECOND]"
                db.register(
                    f"SELECT k, count(*) AS n, sum(x) AS total FROM s {window} GROUP BY k", f"q{number}"
                )
            seen: list[tuple[float, float, float, set[Path]]] = []

            def look(epoch: panes.Epoch) -> None:
                others = sum(cpu_s(pid) for pid in descendants(os.getpid()))
                seen.append((time.process_time(), others, epoch.seconds, written(db.path)))

            db.run(on_epoch=look)
            # The first epoch plans and sends what the later ones only use, and the last one has no rows.
            steps = list(pairwise(seen[:-1]))
            new = [[path for path in after[3] - before[3] if path.exists()] for before, after in steps]
            records = [path.stat().st_size for path in sorted((db.path / "epochs").glob("*.json"))]
            return Point(
                shards,
                queries,
                statistics.median(after[0] - before[0] for before, after in steps),
                min(schedule(session, shards) for _ in range(3)),
                statistics.median(after[1] - before[1] for before, after in steps),
                statistics.median(after[2] for _, after in steps),
                int(statistics.median(len(files) for files in new)),
                int(statistics.median(sum(path.stat().st_size for path in files) for files in new)),
                records[-1],
            )


def written(folder: Path) -> set[Path]:
    """The files that epochs have left behind."""
    return {
        path
        for path in folder.rglob("*")
        if path.parent != folder and path.relative_to(folder).parts[0] not in NOT_STATE and path.is_file()
    }


def schedule(session: SparkSession, tasks: int) -> float:
    """The CPU time of Java for as many empty tasks before a shuffle and after it."""
    from pyspark.sql import functions as F

    jvm = session.sparkContext._jvm
    assert jvm is not None
    java = jvm.java.lang.ProcessHandle.current().pid()
    began = cpu_s(java)
    empty = session.range(0, tasks, 1, tasks).repartitionById(tasks, F.col("id").cast("int"))
    empty.write.format("noop").mode("overwrite").save()
    return cpu_s(java) - began


def cpu_s(pid: int) -> float:
    """What a process, and those of its children that have ended, have used of the processor."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def problems(points: Sequence[Point]) -> list[str]:
    """What grows faster than the number of shards, and what is more than one file for each of them."""
    found = []
    for queries in sorted({point.queries for point in points}):
        mine = sorted((p for p in points if p.queries == queries), key=lambda point: point.shards)
        for few, many in pairwise(mine):
            for what in ("driver_s", "files", "record_bytes"):
                growth = getattr(many, what) / getattr(few, what)
                # Some of the noise of a machine that others use too.
                if growth > 1.25 * many.shards / few.shards:
                    found.append(f"{what} of {queries} queries grows {growth:.1f} times from {few} to {many}")
        found += [
            f"{p.files} files per epoch for {p.shards} shards" for p in mine if p.files > 4 * p.shards + 50
        ]
    return found


def main() -> None:
    from panes.spark.session import local_session

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shards", type=int, nargs="+", default=SHARDS)
    parser.add_argument("--queries", type=int, nargs="+", default=QUERIES)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    session = local_session()
    measure(session, 2, 1, 3)  # Spark and its workers get warm
    points = []
    for queries in arguments.queries:
        for shards in arguments.shards:
            points.append(measure(session, shards, queries, arguments.epochs))
            print(points[-1], flush=True)
    save(NAME, [asdict(point) for point in points], epochs=arguments.epochs)
    if found := problems(points):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
