"""The benchmark: six workloads, Panes beside what users would pick instead, each engine in a process of its own.

    panes bench [W1 W5:400000 …] [--engines panes,duckdb]

Results go to benchmarks/results/workloads.json, a chart to docs/charts; `python -m benchmarks.report` puts both
into docs/benchmarks.md.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import charts
from benchmarks.engine import RESULT, files_of
from benchmarks.peers import python_of
from benchmarks.result_files import load, save
from benchmarks.traffic import ROWS
from benchmarks.workloads import WORKLOADS

Result = Mapping[str, Any]

NAME = "workloads"
IN_PROCESS = ("panes", "spark", "floor", "duckdb", "polars")
PEERS = ("flink", "pathway")
ENGINES = {
    "panes": "Panes",
    "spark": "Spark's own streaming",
    "floor": "Spark, counting only",
    "flink": "Flink",
    "pathway": "Pathway",
    "duckdb": "DuckDB, asked again",
    "polars": "Polars, asked again",
}
"""In the order of the tables."""
TIMEOUT_S = 900

# Engines that would take minutes for all rows are given the first ones; what they reach does not grow with more.
FEWER = {
    ("spark", "W1"): 1_000_000,
    ("spark", "W3"): 400_000,
    ("spark", "W4"): 400_000,
    ("spark", "W5"): 400_000,
    ("spark", "W6"): 1_000_000,
    ("duckdb", "W5"): 600_000,
    ("pathway", "W1"): 100_000,
    ("pathway", "W3"): 200_000,
    ("pathway", "W4"): 200_000,
    ("pathway", "W5"): 50_000,
    ("pathway", "W6"): 100_000,
}


def bench(
    runs: Sequence[str] = (),
    engines: Sequence[str] = IN_PROCESS,
    *,
    rows: int = ROWS,
    add: bool = False,
    tell: Callable[[str], None] = print,
) -> Path:
    """Runs the engines one after the other; `add` keeps what others reached in the last run."""
    results: list[Result] = []
    for engine in engines:
        for result in _results(engine, _runs(engine, runs, rows, results)):
            results.append(result)
            tell(line(result))
    if add and (last := load(NAME)) is not None:
        results += [old for old in last["results"] if old["engine"] not in engines]
    path = save(NAME, [dict(result) for result in results])
    draw(results)
    return path


def draw(results: Sequence[Result]) -> None:
    floor = next((r["rows_per_s"] for r in results if r["engine"] == "floor"), None)
    reached: dict[str, dict[str, float]] = {}
    for workload in WORKLOADS:
        mine = {r["engine"]: r["rows_per_s"] for r in results if r["workload"] == workload}
        if floor and mine:
            mine["floor"] = floor
        if mine:
            reached[workload] = {title: mine[engine] for engine, title in ENGINES.items() if engine in mine}
    charts.bars(NAME, reached, "rows per second")


def line(result: Result) -> str:
    right = {True: "right", False: "WRONG", None: ""}[result["is_right"]]
    return (
        f"{ENGINES[result['engine']]:<24}{result['workload']:<4}{result['rows']:>10,} rows"
        f"{result['seconds']:>9.2f} s{result['rows_per_s']:>12,} rows/s{result['memory_mb']:>7,} MB  {right}"
    )


def _runs(engine: str, asked: Sequence[str], rows: int, so_far: Sequence[Result]) -> list[str]:
    """What to give to an engine: `workload:rows`."""
    if engine == "floor":
        return [f"{_files_per_epoch(so_far, rows)}:{rows}"]
    runs = []
    for run in asked or list(WORKLOADS):
        workload, _, wanted = run.partition(":")
        runs.append(f"{workload}:{wanted or min(rows, FEWER.get((engine, workload), rows))}")
    return runs


def _files_per_epoch(so_far: Sequence[Result], rows: int) -> int:
    """How many files an epoch of Panes held, so that the floor is measured with the same ones."""
    files = files_of(rows)
    largest = [
        max(count for count, _ in r["more"]["epochs"])
        for r in so_far
        if r["engine"] == "panes" and r["rows"] == rows
    ]
    return max(1, round(min(largest) * files / rows)) if largest else files


def _results(engine: str, runs: Sequence[str]) -> Iterator[Result]:
    """Runs an engine in a process of its own, and gives its results as they come."""
    command = [str(python_of(engine)), "-m", "benchmarks.engine", engine, *runs]
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(root)}
    process = subprocess.Popen(
        command,
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[str] = []
    listener = threading.Thread(target=errors.extend, args=(process.stderr,), daemon=True)
    listener.start()
    alarm = threading.Timer(TIMEOUT_S, os.killpg, (process.pid, signal.SIGKILL))
    alarm.start()
    try:
        for text in process.stdout:
            if text.startswith(RESULT):
                yield json.loads(text.removeprefix(RESULT))
        if process.wait() != 0:
            listener.join()
            raise RuntimeError(f"{engine} ended with {process.returncode}:\n{''.join(errors[-30:])}")
    finally:
        alarm.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
