"""How many queries are refreshed, and how late, under each schedule: figures 8.7 to 8.10 of the thesis.

    python -m benchmarks.refresh [--updates 400] [--save]
    python -m benchmarks.refresh --epochs 60 [--save]
    python -m benchmarks.refresh --live [--seconds 60] [--queries 0] [--save]

Eight groups of queries read a basic interval synopsis each, which is updated every second. The clock is virtual;
what a refresh takes is measured by merging the panes of real synopses, and multiplied by one factor for all, which
stands for the machine of the thesis: with it 40 queries without sharing need somewhat more than all of its time.
`--epochs` refreshes real synopses in overload, with the time of the processor as clock (`epoch_refreshes.py`);
`--live` runs real queries on a real clock (`live_refresh.py`).
"""

from __future__ import annotations

import argparse
import os
import time
import timeit
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

# As in the tasks of Spark.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import pyarrow as pa

from benchmarks import charts, epoch_refreshes, live_refresh
from benchmarks.result_files import save
from benchmarks.virtual_refreshes import VirtualRun
from panes.delta.delta import TS
from panes.delta.rows import int64
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.schedule.hybrid_partition import sub_groups
from panes.schedule.member import Member, cost_of
from panes.schedule.policies import POLICIES, Policy
from panes.schedule.task import Task
from panes.synopses.basic_interval import BasicInterval
from panes.synopses.definition import SynopsisSource
from panes.synopses.layout import UPTO, Layout

NAME = "refresh"
QUERIES = (40, 80, 160, 240)
RATES = (1500, 3000)
"""Tuples per second; at the higher rate all fields have twice as many values."""
WINDOWS = (20, 100)
"""The shortest and the longest window, in updates; a slide is up to half of the window."""
GROUPS = {
    "source, top-k": (1000,),
    "destination, top-k": (1000,),
    "pair of both, top-k": (1000, 1000),
    "protocol, top-k": (100,),
    "port, top-k": (100,),
    "protocol and port, top-k": (100, 100),
    "source, quantiles": (1000,),
    "destination, quantiles": (1000,),
}
"""How many values the fields have that each group of queries counts the bandwidth of."""
NEED = 1.25
"""The part of the machine that 40 queries need without sharing at the lower rate."""
K, REPEATS = 10, 9
ANSWER_COSTS = (0, 5, 20)
"""How many panes could be merged while an answer is made."""
COMPARED = ("conservative", "hybrid", "aggressive", "hybrid_late_pending")


def _no_sharing(members: tuple[Member, ...]) -> list[Task]:
    return [Task.of(sub.members) for sub in sub_groups(members)]


SCHEDULES: Mapping[str, Policy] = {
    "no sharing": Policy(_no_sharing, lambda until, lowest: until == lowest, is_joint=False),
    **{name: policy for name, policy in POLICIES.items() if name != "edf"},
}
"""Without sharing queries of one period are refreshed together, and nothing else."""


@dataclass(frozen=True)
class ProbeTimes:
    """Seconds that a group takes per pane that is gone over, and per answer."""

    per_pane: float
    per_answer: float


@dataclass(frozen=True)
class Point:
    rate: int
    queries: int
    schedule: str
    throughput: float
    latency: float
    tasks: int


def measured(rate: int, fields: Sequence[int], panes: int = 60) -> ProbeTimes:
    """What it takes to merge panes of counters, and to make the list of the heaviest values of the sums."""
    random = np.random.default_rng(8)
    layout = counters(len(fields))
    rows = panes * rate
    columns = dict.fromkeys(layout.schema.names, np.ones(rows, np.int64))
    columns |= dict.fromkeys((TS, UPTO), np.repeat(np.arange(1, panes + 1), rate))
    for key, values in zip(layout.keys, fields, strict=True):
        columns[key] = random.integers(0, values * rate // RATES[0], rows)
    (bandwidth,) = (name for name in columns if name.startswith("_sum"))
    columns[bandwidth] = random.integers(40, 1500, rows)
    synopsis = BasicInterval(layout, 1)
    synopsis.add(pa.table(columns, schema=layout.schema))
    totals = int64(synopsis.window(panes, panes).rows, bandwidth)
    return ProbeTimes(
        _seconds(lambda: synopsis.window(panes, panes)) / panes,
        _seconds(lambda: np.argpartition(totals, -K)[-K:]),
    )


def counters(fields: int) -> Layout:
    """What a synopsis holds that sums bandwidth by some fields."""
    names = [f"p.field_{number}" for number in range(fields)]
    scan = StreamScan("p", "p", Schema.of([(name, BIGINT) for name in (*names, "p.bytes")]))
    source = SynopsisSource(scan, tuple(Column(BIGINT, name) for name in names), ())
    total = Aggregate("total", "sum", Column(BIGINT, "p.bytes"), BIGINT)
    return Layout.of(source.group_by((total,), RangeWindow(WINDOWS[1], 1)))


def _seconds(work: Callable[[], object]) -> float:
    """What it takes at best, of the processor: other processes only add to it."""
    return min(timeit.repeat(work, number=1, repeat=REPEATS, timer=time.process_time))


def drawn(count: int, times: Sequence[ProbeTimes], factor: float) -> list[Member]:
    """The queries, evenly over the groups."""
    random = np.random.default_rng(count)
    shortest, longest = WINDOWS
    found = []
    for query in range(count):
        group = query % len(times)
        window = int(random.integers(shortest, longest + 1))
        slide = int(random.integers(1, window // 2 + 1))
        scan, finish = window * times[group].per_pane, times[group].per_answer
        found.append(Member(query, group, slide, scan * factor, finish * factor))
    return found


def need(members: Sequence[Member]) -> float:
    """The part of the machine that refreshes without sharing take."""
    tasks = SCHEDULES["no sharing"].tasks(members)
    return sum(cost_of(task.members) / task.period for task in tasks)


def simulated(times: Mapping[int, Sequence[ProbeTimes]], updates: int) -> list[Point]:
    """Throughput and latency of all schedules; `times` are those of the groups, by rate."""
    factor = NEED / need(drawn(QUERIES[0], times[RATES[0]], 1.0))
    found = []
    for rate, of_rate in times.items():
        for count in QUERIES:
            found += _points(rate, drawn(count, of_rate, factor), SCHEDULES, updates)
    return found


def by_answer_cost(times: Sequence[ProbeTimes], updates: int) -> list[tuple[int, Point]]:
    """The same at the lower rate, when an answer costs as much as merging some number of panes."""
    found = []
    for panes in ANSWER_COSTS:
        given = [replace(one, per_answer=panes * one.per_pane) for one in times]
        factor = NEED / need(drawn(QUERIES[0], given, 1.0))
        for count in QUERIES[::2]:
            points = _points(RATES[0], drawn(count, given, factor), COMPARED, updates)
            found += [(panes, point) for point in points]
    return found


def _points(rate: int, members: Sequence[Member], schedules: Iterable[str], updates: int) -> list[Point]:
    found = []
    for name in schedules:
        run = VirtualRun(SCHEDULES[name], members).run(updates)
        tasks = len(SCHEDULES[name].tasks(members))
        found.append(Point(rate, len(members), name, run.throughput, run.latency, tasks))
    return found


def draw(found: Sequence[Point]) -> None:
    """Figures 8.7 to 8.10 as one chart."""
    panels = []
    for number, (rate, is_latency) in enumerate((rate, late) for rate in RATES for late in (False, True)):
        mine = [point for point in found if point.rate == rate]
        lines = {
            name: [
                (float(point.queries), point.latency if is_latency else point.throughput)
                for point in mine
                if point.schedule == name
            ]
            for name in SCHEDULES
        }
        what = "latency, updates" if is_latency else "queries refreshed per second"
        title = f"8.{7 + number}: {what.split(',')[0]}, {rate:,} tuples/s"
        panels.append(charts.Panel(title, lines, "queries", what, is_log_x=False, is_log_y=False))
    charts.lines(NAME, panels)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--epochs", type=int, help="refresh real synopses for a number of epochs in overload")
    parser.add_argument("--live", action="store_true", help="run real queries on a live stream")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each live run is measured")
    parser.add_argument("--queries", type=int, help="how many of them; else as many as are too many")
    parser.add_argument("--save", action="store_true", help="write the result file and the charts")
    arguments = parser.parse_args()
    if arguments.epochs:
        _compare(epoch_refreshes.NAME, epoch_refreshes.overloaded(arguments.epochs), save_it=arguments.save)
        return
    if arguments.live:
        found = live_refresh.live(arguments.seconds, arguments.queries)
        _compare(live_refresh.NAME, found, save_it=arguments.save)
        return
    times = {rate: [measured(rate, fields) for fields in GROUPS.values()] for rate in RATES}
    found = simulated(times, arguments.updates)
    for point in found:
        print(
            f"{point.rate:>5} {point.queries:>4} {point.schedule:<20} {point.throughput:8.2f} refreshed/s "
            f"{point.latency:8.2f} late {point.tasks:>4} tasks"
        )
    if arguments.save:
        draw(found)
        answers = by_answer_cost(times[RATES[0]], arguments.updates)
        save(
            NAME,
            [asdict(point) for point in found],
            updates=arguments.updates,
            answers=[{"panes": panes, **asdict(point)} for panes, point in answers],
        )


def _compare(name: str, found: Sequence[live_refresh.LiveRun], *, save_it: bool) -> None:
    """Prints the two runs of an overload, and keeps them."""
    for run in found:
        print("  ".join(f"{name}={value}" for name, value in asdict(run).items()))
    alone, together = found
    print(f"{together.refreshed_per_s / alone.refreshed_per_s:.2f} times as many, aim {live_refresh.AIM:g}")
    if save_it:
        save(name, [asdict(run) for run in found])


if __name__ == "__main__":
    main()
