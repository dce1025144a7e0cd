"""How fast the operators are, on one core, without Spark: `python -m benchmarks.operators [--save]`.

Every operator is given deltas of 200,000 rows over windows that hold 60,000, 600,000 and 6,000,000 rows. The
windows are filled first; then the spans are timed until the whole window has been replaced once, or eight
spans have passed. A row of input is a row that arrives; what expires is not counted as input. Times are CPU
seconds of the process and the best of some runs, so that others on the same machine count less.
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import cProfile
import gc
import pstats
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.operators_report import operator_table
from benchmarks.result_files import save
from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.operators.anti_join import AntiJoin
from panes.operators.base import Operator
from panes.operators.distinct import Distinct
from panes.operators.distinct_star import DistinctStar
from panes.operators.except_ import except_
from panes.operators.group_by import GroupBy
from panes.operators.intersect import intersect
from panes.operators.join import Join
from panes.operators.pre_aggregate import PreAggregate
from panes.operators.semi_join import SemiJoin
from panes.operators.tools.edge import Edge
from panes.plan import nodes
from panes.plan.expressions import Aggregate, Column
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow

NAME = "operators"
DELTA = 200_000
WINDOWS = (60_000, 600_000, 6_000_000)
APART_US = 10
"""Time between two rows of one input."""

A = Schema.of([("a.k", BIGINT), ("a.x", BIGINT)])
B = Schema.of([("b.k", BIGINT), ("b.x", BIGINT)])


@dataclass(frozen=True)
class Case:
    """An operator, how many inputs it has, and the target in rows/s with a window of 600,000 rows."""

    name: str
    make: Callable[[], Sequence[Operator]]
    inputs: int
    target: float | None
    is_weighted: bool = False
    columns: int = 2
    rows_per_key: int = 1


def weak(schema: Schema) -> Edge:
    return Edge(schema, Pattern.WEAKEST)


def _group_by() -> Sequence[Operator]:
    scan = nodes.StreamScan("a", "a", A)
    aggregates = (
        Aggregate("n", "count", None, BIGINT),
        Aggregate("total", "sum", Column(BIGINT, "a.x"), BIGINT),
    )
    node = nodes.GroupBy(nodes.Window(scan, RangeWindow(1)), ("a.k",), aggregates)
    return [PreAggregate(node, combine=False), GroupBy(node, every_instant=False)]


CASES = (
    Case("join", lambda: [Join(weak(A), weak(B), ["a.k"], ["b.k"])], 2, 1.5e6),
    Case("distinct (δ*)", lambda: [DistinctStar(weak(Schema(A.fields[:1])))], 1, 2e6, columns=1),
    Case(
        "distinct (δ)",
        lambda: [Distinct((Edge(Schema(A.fields[:1]), Pattern.STRICT),), "distinct")],
        1,
        2e6,
        is_weighted=True,
        columns=1,
    ),
    Case(
        "negation: except, counting",
        lambda: [except_(weak(Schema(A.fields[:1])), weak(Schema(B.fields[:1])))],
        2,
        2e6,
        columns=1,
    ),
    Case(
        "negation: except, lifetimes",
        lambda: [except_(weak(Schema(A.fields[:1])), weak(Schema(B.fields[:1])), leaves_early=False)],
        2,
        None,
        columns=1,
    ),
    Case("negation: not exists", lambda: [AntiJoin(weak(A), weak(B), ["a.k"], ["b.k"])], 2, None),
    Case("semi-join", lambda: [SemiJoin(weak(A), weak(B), ["a.k"], ["b.k"])], 2, None),
    Case(
        "intersect",
        lambda: [intersect(weak(Schema(A.fields[:1])), weak(Schema(B.fields[:1])))],
        2,
        None,
        columns=1,
    ),
    Case("group-by, 100 rows in a group", _group_by, 1, 2e6, rows_per_key=100),
    Case("group-by, 1 row in a group", _group_by, 1, None),
)


def spans(case: Case, window: int) -> Iterator[tuple[list[Delta], int, int]]:
    """Deltas of uniformly drawn keys; on average the window of one input holds `rows_per_key` of each."""
    random = np.random.default_rng(7)
    rows, held = DELTA // case.inputs, window // case.inputs
    number = 0
    while True:
        ts = (np.arange(rows) + number * rows + 1) * APART_US
        since, clock = number * rows * APART_US, (number + 1) * rows * APART_US
        deltas = []
        for schema in (A, B)[: case.inputs]:
            columns = {
                schema.names[0]: random.integers(0, held // case.rows_per_key, rows),
                schema.names[1]: ts,
            }
            table = pa.table({name: columns[name] for name in schema.names[: case.columns]})
            table = table.append_column(TS, pa.array(ts)).append_column(EXP, pa.array(ts + held * APART_US))
            if case.is_weighted:
                table = table.append_column(WEIGHT, pa.array(np.ones(rows, dtype=np.int64)))
            deltas.append(Delta(table, clock))
        yield deltas, since, clock
        number += 1


def measure(case: Case, window: int, profile: cProfile.Profile | None = None) -> tuple[float, float]:
    """Seconds per row of input, and rows of output per row of input."""
    chain = case.make()
    filling = window // DELTA + 1
    timed = max(8, filling)
    seconds: list[float] = []
    output = 0
    gc.disable()
    for number, (deltas, since, clock) in enumerate(spans(case, window)):
        if number == filling + timed:
            break
        is_timed = number >= filling
        if is_timed and profile is not None:
            profile.enable()
        begin = time.process_time()
        result = deltas
        for operator in chain:
            result = [operator.process(result, since, clock)]
        taken = time.process_time() - begin
        if profile is not None:
            profile.disable()
        if is_timed:
            seconds.append(taken)
            output += result[0].rows
    gc.enable()
    return sum(seconds) / len(seconds) / DELTA, output / len(seconds) / DELTA


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run the cases whose name contains this")
    parser.add_argument("--runs", type=int, default=2, help="how often to measure; the best counts")
    parser.add_argument("--profile", action="store_true", help="say where the time goes, at 600,000 rows")
    parser.add_argument("--save", action="store_true", help="write the result file")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    chosen = [case for case in CASES if not arguments.only or arguments.only in case.name]
    if arguments.profile:
        for case in chosen:
            profile = cProfile.Profile()
            measure(case, 600_000, profile)
            print(case.name)
            pstats.Stats(profile).sort_stats("tottime").print_stats(15)
        return
    results: list[dict[str, Any]] = []
    for case in chosen:
        for window in WINDOWS:
            seconds, output = min(measure(case, window) for _ in range(arguments.runs))
            reached = {"rows_per_s": 1 / seconds, "results_per_row": output}
            results.append({"operator": case.name, "window": window, **reached, "target": case.target})
            print(f"{case.name:<32}{window:>10,}{1e-6 / seconds:>8.2f} M/s", flush=True)
    print(operator_table(results))
    if arguments.save:
        save(NAME, results)


if __name__ == "__main__":
    main()
