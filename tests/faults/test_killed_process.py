"""A process killed in the middle of an epoch: the next one goes on, and nothing is lost or counted twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.crash_points import arm, was_reached

PROGRAM = Path(__file__).with_name("killed.py")
ROWS = [{"ts": row // 3, "k": row * 5 % 7, "x": row % 13} for row in range(120)]
PATIENCE_S = 300


def start(database: Path, folder: Path, crash_points: Path) -> subprocess.Popen:
    environment = os.environ | {"PANES_CRASH_POINTS": str(crash_points), "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [sys.executable, PROGRAM, database, folder],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_all(process: subprocess.Popen) -> None:
    """The program, Java and the Python workers: all at once, as when the power fails."""
    members = _descendants(process.pid)
    for pid in [process.pid, *members]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.communicate(timeout=PATIENCE_S)


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, rest = [], [pid]
    while rest:
        mine = children.get(rest.pop(), [])
        found += mine
        rest += mine
    return found


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers to kill through /proc")
def test_a_process_killed_between_manifest_and_commit_goes_on_where_it_was(tmp_path):
    folder, points = tmp_path / "in", tmp_path / "points"
    folder.mkdir()
    points.mkdir()
    for epoch in range(3):
        pq.write_table(pa.Table.from_pylist(ROWS[epoch * 40 : (epoch + 1) * 40]), folder / f"{epoch}.parquet")
        os.utime(folder / f"{epoch}.parquet", (epoch, epoch))
    # First in a worker that has written its state, then in the driver that has committed and not told Spark.
    for step in ("after manifest", "after commit"):
        arm(points, step, "hang")
        process = start(tmp_path / "db", folder, points)
        deadline = time.monotonic() + PATIENCE_S
        while not was_reached(points, step):
            assert time.monotonic() < deadline, "the step was never reached"
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
                pytest.fail("the program ended before the step")
        kill_all(process)
    process = start(tmp_path / "db", folder, points)
    output, _ = process.communicate(timeout=PATIENCE_S)
    found = json.loads(output.splitlines()[-1])
    rows = pa.Table.from_pylist(ROWS)  # noqa: F841  DuckDB finds it by its name
    now = ROWS[-1]["ts"]
    grouped = duckdb.sql(
        f"SELECT k, count(*) AS n, sum(x)::BIGINT AS total FROM rows WHERE ts > {now} - 20 GROUP BY k"
    )
    paired = duckdb.sql(
        f"SELECT a.k, b.x FROM rows a JOIN rows b USING (k) WHERE a.ts > {now} - 5 AND b.ts = {now}"
    )
    assert found["answers"] == {
        "grouped": sorted(map(str, grouped.to_arrow_table().to_pylist())),
        "paired": sorted(map(str, paired.to_arrow_table().to_pylist())),
    }
    assert (found["rows"], found["epoch"]) == (len(ROWS), 3)
