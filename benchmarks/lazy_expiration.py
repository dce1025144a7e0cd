"""What lazy expiration costs and saves: state and rows touched, by how much of a chunk may be dead.

    python -m benchmarks.lazy_expiration [--window 20000] [--save]

Query 1 of the update-patterns paper (the join of two links, telnet only) runs in spans of 1,000 tuples with each
value of the setting `lazy_expiration`, and with an interval of 5 percent of the window, as in the paper. Its
result is not kept, so that the state is that of the join alone. CPU time is the least of some runs, which take
turns.
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from benchmarks import charts
from benchmarks.markdown import Content, measured_on, table
from benchmarks.paper_queries import EXPERIMENTS, UNIT_US, Experiment, Links
from benchmarks.result_files import save
from benchmarks.update_patterns import Feed
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize

NAME = "lazy-expiration"
SHARES = (1, 2, 5, 10, 20, 50, 100)
"""In percent of a chunk."""
SPAN, WARM, TIMED = 1_000, 20, 60


@dataclass(frozen=True)
class Point:
    """One measurement: means over the spans that are timed."""

    setting: str
    ms_per_1000: float
    state_rows: float
    alive_rows: float
    touched_per_1000: float


def measure(experiment: Experiment, setting: str, window: int, warm: int = WARM, timed: int = TIMED) -> Point:
    (statement,) = parse(experiment.sql.replace("{w}", f"RANGE {window} MILLISECONDS"))
    assert isinstance(statement, SelectQuery)
    dataflow = lower(optimize(bind(statement, Links.made())), lazy_expiration=setting)
    states = list(dataflow.buffers.values())
    feed = Feed(experiment, list(dataflow.inputs), window)
    for span in feed.filling(SPAN):
        dataflow.process(*span)
    for _ in range(warm):
        dataflow.process(*feed.take(feed.units(SPAN)))
    before = sum(state.touched for state in states)
    seconds = came = 0.0
    held, alive = [], []
    for _ in range(timed):
        arrivals, since, clock = feed.take(feed.units(SPAN))
        begin = time.process_time()
        dataflow.process(arrivals, since, clock)
        seconds += time.process_time() - begin
        came += sum(rows.num_rows for rows in arrivals.values())
        held.append(sum(state.rows for state in states))
        exps = [chunk.table.column("_exp").to_numpy() for state in states for chunk in state.chunks]
        alive.append(sum(int(np.count_nonzero(exp > clock)) for exp in exps))
    touched = sum(state.touched for state in states) - before
    return Point(
        setting, 1e6 * seconds / came, float(np.mean(held)), float(np.mean(alive)), 1_000 * touched / came
    )


def lazy_expiration_table(content: Content) -> str:
    """The curve as a table."""
    rows = [
        [
            r["setting"],
            f"{r['ms_per_1000']:.2f}",
            f"{r['state_rows']:,.0f}",
            f"{r['state_rows'] / r['alive_rows']:.2f}",
            f"{r['touched_per_1000']:,.0f}",
        ]
        for r in content["results"]
    ]
    header = [
        "`lazy_expiration`",
        "ms per 1,000 tuples",
        "state, rows",
        "÷ those alive",
        "rows touched per 1,000",
    ]
    return f"{measured_on(content)}\n\n{table(header, rows)}"


def draw(points: Sequence[Point]) -> None:
    """State, rows touched and time by the share that may be dead."""
    shares = [(float(p.setting.rstrip("%")), p) for p in points if p.setting.endswith("%")]
    curves = {
        "state, rows": [(share, p.state_rows) for share, p in shares],
        "rows touched per 1,000": [(share, p.touched_per_1000) for share, p in shares],
        "ms per 1,000 tuples": [(share, p.ms_per_1000) for share, p in shares],
    }
    panels = [
        charts.Panel(
            title, {"share of a chunk": line}, "% of a chunk that may be dead", title, is_log_y=False
        )
        for title, line in curves.items()
    ]
    charts.lines(NAME, panels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--window", type=int, default=20_000, help="in time units of the paper")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="write the result file and the chart")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    (experiment,) = (e for e in EXPERIMENTS if e.name == "query 1, telnet")
    interval = f"{arguments.window * UNIT_US // 20_000} MILLISECONDS"
    settings = [*(f"{share}%" for share in SHARES), interval]
    runs = [
        [measure(experiment, setting, arguments.window) for setting in settings]
        for _ in range(arguments.runs)
    ]
    points = [min(several, key=lambda p: p.ms_per_1000) for several in zip(*runs, strict=True)]
    for point in points:
        print(point)
    if arguments.save:
        save(NAME, [asdict(point) for point in points], window=arguments.window)
        draw(points)


if __name__ == "__main__":
    main()
