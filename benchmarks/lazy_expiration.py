"""What lazy expiration costs and saves: state and rows touched, by how much of a chunk may be dead.

    python -m benchmarks.lazy_expiration [--window 200000]

Query 1 of the update-patterns paper (the join of two links, telnet only) runs in spans of 1,000 tuples with each
value of the setting `lazy_expiration`, the paper's 5 percent among them. Its result is not kept, so that the state
is that of the join alone. CPU time is the least of some runs, which take turns.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.paper_queries import EXPERIMENTS, UNIT_US, Experiment, Links
from benchmarks.update_patterns import spans
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize

SHARES = ("1%", "2%", "5%", "10%", "20%", "50%", "100%")
SPAN, TIMED = 1_000, 60


@dataclass(frozen=True)
class Point:
    """One measurement: means over the spans that are timed."""

    setting: str
    ms_per_1000: float
    state_rows: float
    touched_per_1000: float


def measure(experiment: Experiment, setting: str, window: int) -> Point:
    (statement,) = parse(experiment.sql.replace("{w}", f"RANGE {window} MILLISECONDS"))
    assert isinstance(statement, SelectQuery)
    dataflow = lower(optimize(bind(statement, Links.made())), lazy_expiration=setting)
    states = list(dataflow.buffers.values())
    seconds = came = 0.0
    held, before = [], 0
    for arrivals, since, clock, is_timed in spans(experiment, list(dataflow.inputs), window, SPAN, TIMED):
        if not is_timed:
            dataflow.process(arrivals, since, clock)
            before = sum(state.touched for state in states)
            continue
        begin = time.process_time()
        dataflow.process(arrivals, since, clock)
        seconds += time.process_time() - begin
        came += sum(table.num_rows for table in arrivals.values())
        held.append(sum(state.rows for state in states))
    touched = sum(state.touched for state in states) - before
    return Point(setting, 1e6 * seconds / came, float(np.mean(held)), 1_000 * touched / came)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--window", type=int, default=20_000, help="in time units of the paper")
    parser.add_argument("--runs", type=int, default=2)
    arguments = parser.parse_args()
    (experiment,) = (e for e in EXPERIMENTS if e.name == "query 1, telnet")
    interval = f"{arguments.window * UNIT_US // 20} MICROSECONDS"
    print("| lazy_expiration | ms per 1,000 tuples | state, rows | touched per 1,000 |")
    print("| --- | ---: | ---: | ---: |")
    runs = [
        [measure(experiment, setting, arguments.window) for setting in (*SHARES, interval)]
        for _ in range(arguments.runs)
    ]
    for points in zip(*runs, strict=True):
        best = min(points, key=lambda point: point.ms_per_1000)
        print(
            f"| {best.setting} | {best.ms_per_1000:.2f} | {best.state_rows:,.0f} | {best.touched_per_1000:,.0f} |"
        )


if __name__ == "__main__":
    main()
