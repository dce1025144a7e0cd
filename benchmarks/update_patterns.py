"""The experiments of the update-patterns paper: NT, DIRECT and UPA on queries 1 to 5, without Spark.

    python -m benchmarks.update_patterns [--only 'query 1'] [--traces FOLDER] [--profile] [--save]

Traffic is generated with the parameters of the paper: one tuple per link and time unit, windows of 2,000 to
200,000 time units, ten partitions; and a window ten times as large. With `--traces` the queries also run over
traces of the Lawrence Berkeley Laboratory, where these fit. The result is kept in the buffer that the strategy
chooses for it, as there. What arrives is handed over in spans of some tuples; the figure is CPU time per 1,000
tuples once the windows are full, and the state is what all buffers hold then, the result included. At the end
stands where UPA is at least as fast as the others.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from benchmarks.lbl_traces import WINDOWS as TRACE_WINDOWS
from benchmarks.lbl_traces import trace_experiments
from benchmarks.naive_distinct import NaiveDistinct
from benchmarks.naive_distinct_nt import NaiveDistinctNt
from benchmarks.paper_queries import EXPERIMENTS, UNIT_US, UPA_CALENDAR, Experiment, Links, Way
from benchmarks.result_files import load, save
from benchmarks.update_patterns_report import LARGEST, NAME, PAPERS_LARGEST, SPAN, aims_table, draw
from panes.delta.delta import TS
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.operators.base import Operator
from panes.operators.dataflow import Dataflow
from panes.operators.distinct import Distinct
from panes.operators.distinct_star import DistinctStar
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_buffer
from panes.state.buffers.chunked import ChunkedBuffer

WINDOWS = (2_000, 20_000, PAPERS_LARGEST, LARGEST)
"""In time units: the paper's range, and ten times its largest."""
OTHER_SPANS = {PAPERS_LARGEST: (100, 10_000), LARGEST: (10_000,)}
"""By window, for the chart that shows what the size of a span does, and for what is aimed at."""
FEWEST_TIMED, MOST_TIMED = 20, 100
"""Spans that are timed."""


@dataclass(frozen=True)
class Point:
    """One measurement."""

    experiment: str
    way: str
    window: int
    span: int
    ms_per_1000: float
    state_rows: int
    state_bytes: int
    results_per_tuple: float
    touched_per_1000: float
    """State rows that were read, moved or removed: what the layouts differ by, whatever a row costs."""
    early_share: float | None = None


@dataclass
class Running:
    """A query and its result, each in the buffers that the strategy chooses."""

    dataflow: Dataflow
    result: ChunkedBuffer
    given: int = 0
    """Rows of positive weight that the query gave."""
    taken_back: int = 0

    @classmethod
    def of(cls, experiment: Experiment, way: Way, window: int) -> Running:
        sql = (way.sql or experiment.sql).replace("{w}", f"RANGE {window} MILLISECONDS")
        (statement,) = parse(sql)
        assert isinstance(statement, SelectQuery)
        plan = optimize(bind(statement, Links.made()))
        dataflow = lower(
            plan, strategy=way.strategy, calendar_days=way.calendar_days, leaves_early=way.leaves_early
        )
        if way.is_naive:
            dataflow.operators = [_naive(operator) for operator in dataflow.operators]
        result = choose_buffer(
            dataflow.pattern,
            way.strategy,
            [plan.schema.names[0]],
            leaves_early=way.leaves_early,
            calendar_days=way.calendar_days,
        )
        return cls(dataflow, result)

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> None:
        delta = self.dataflow.process(arrivals, since, clock)
        self.result.forget(clock)
        alive = delta.filter(delta.exp > clock)
        if alive.rows:
            self.result.insert(alive.table.drop_columns([TS]))
        weight = delta.weight
        self.given += int(weight[weight > 0].sum())
        self.taken_back -= int(weight[weight < 0].sum())

    @property
    def touched(self) -> int:
        return sum(state.touched for state in self.states)

    @property
    def states(self) -> list[State]:
        return [*self.dataflow.buffers.values(), self.result]


def _naive(operator: Operator) -> Operator:
    """An operator of a plan, or the δ of the papers in its place."""
    if isinstance(operator, DistinctStar):
        return NaiveDistinct(operator.edge)
    if isinstance(operator, Distinct):
        return NaiveDistinctNt(operator.inputs[0])
    return operator


@dataclass
class Feed:
    """The tuples of an experiment, as many time units at a time as are asked for."""

    experiment: Experiment
    links: Sequence[str]
    window: int
    first: int = 0

    def take(self, units: int) -> tuple[dict[str, pa.Table], int, int]:
        """What arrives in the next time units, and the span that they are."""
        first, self.first = self.first, self.first + units
        arrivals = self.experiment.traffic.links(self.links, self.window, first, units)
        return arrivals, first * UNIT_US, self.first * UNIT_US

    def units(self, tuples: int) -> int:
        """The time units in which so many tuples arrive on all links."""
        return max(1, tuples // len(self.links))

    def filling(self, tuples: int) -> Iterator[tuple[dict[str, pa.Table], int, int]]:
        """Fills the windows in twentieths of them, or in spans of some tuples where these are longer."""
        step = max(self.units(tuples), self.window // 20)
        for _ in range(-(-self.window // step)):
            yield self.take(step)


def measure(
    experiment: Experiment,
    way: Way,
    window: int,
    spans: Sequence[int],
    profile: cProfile.Profile | None = None,
) -> list[Point]:
    """Time per 1,000 tuples once the windows are full, for each size of spans in turn."""
    running = Running.of(experiment, way, window)
    feed = Feed(experiment, list(running.dataflow.inputs), window)
    gc.disable()
    for arrivals, since, clock in feed.filling(min(spans)):
        running.process(arrivals, since, clock)
    points = [_measured(running, feed, way, tuples, profile) for tuples in spans]
    gc.enable()
    return points


def _measured(running: Running, feed: Feed, way: Way, tuples: int, profile: cProfile.Profile | None) -> Point:
    """Spans of some tuples: a few until the buffers have the shape that such spans give them, then those that are
    timed."""
    timed = min(MOST_TIMED, max(FEWEST_TIMED, feed.window // tuples))
    for _ in range(max(8, timed // 3)):
        running.process(*feed.take(feed.units(tuples)))
    given, taken_back, touched = running.given, running.taken_back, running.touched
    seconds = came = 0.0
    for _ in range(timed):
        arrivals, since, clock = feed.take(feed.units(tuples))
        if profile is not None:
            profile.enable()
        begin = time.process_time()
        running.process(arrivals, since, clock)
        seconds += time.process_time() - begin
        if profile is not None:
            profile.disable()
        came += sum(table.num_rows for table in arrivals.values())
    given = running.given - given
    states = running.states
    return Point(
        feed.experiment.name,
        way.name,
        feed.window,
        tuples,
        1e6 * seconds / came,
        sum(state.rows for state in states),
        sum(chunk.table.nbytes for state in states for chunk in state.chunks),
        given / came,
        1_000 * (running.touched - touched) / came,
        (running.taken_back - taken_back) / given if way is UPA_CALENDAR and given else None,
    )


def best(experiment: Experiment, way: Way, window: int, spans: Sequence[int], runs: int) -> list[Point]:
    """The fastest of some runs, for each size of spans: others on the same machine count less."""
    every = [measure(experiment, way, window, spans) for _ in range(runs)]
    return [min(points, key=lambda point: point.ms_per_1000) for points in zip(*every, strict=True)]


def shown(point: Point) -> str:
    early = "" if point.early_share is None else f"   {point.early_share:.0%} early"
    return (
        f"{point.experiment:<26}{point.way:<36}{point.window:>9,}{point.span:>8,}{point.ms_per_1000:>9.3f} ms"
        f"{point.state_rows:>12,} rows{point.state_bytes / 1e6:>9.2f} MB"
        f"{point.results_per_tuple:>7.2f} results{point.touched_per_1000:>12,.0f} touched{early}"
    )


def spans_of(window: int) -> list[int]:
    """The sizes of spans that are measured at a window."""
    return sorted({SPAN, *OTHER_SPANS.get(window, ())})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="experiments whose name contains this")
    parser.add_argument("--windows", type=int, nargs="+", default=list(WINDOWS))
    parser.add_argument("--runs", type=int, default=1, help="how often to measure; the best counts")
    parser.add_argument("--traces", type=Path, help="folder with the traces")
    parser.add_argument(
        "--profile", action="store_true", help="say where the time goes, at the largest window"
    )
    parser.add_argument(
        "--save", action="store_true", help="write the result file and the charts; other experiments stay"
    )
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    chosen = [(e, arguments.windows) for e in EXPERIMENTS]
    chosen += [(e, TRACE_WINDOWS) for e in trace_experiments(arguments.traces)]
    chosen = [(e, windows) for e, windows in chosen if arguments.only in e.name]
    if arguments.profile:
        for experiment, windows in chosen:
            for way in experiment.ways:
                profile = cProfile.Profile()
                measure(experiment, way, windows[-1], [SPAN], profile)
                print(experiment.name, way.name)
                pstats.Stats(profile).sort_stats("tottime").print_stats(12)
        return
    points: list[Point] = []
    for experiment, windows in chosen:
        for way in experiment.ways:
            for window in windows:
                points += best(experiment, way, window, spans_of(window), arguments.runs)
                print(*map(shown, points[-len(spans_of(window)) :]), sep="\n", flush=True)
    results = [asdict(point) for point in points]
    print(aims_table(results))
    if arguments.save:
        names = {experiment.name for experiment, _ in chosen}
        before = load(NAME) or {"results": []}
        results = [r for r in before["results"] if r["experiment"] not in names] + results
        save(NAME, results)
        draw(results)


if __name__ == "__main__":
    main()
