"""The experiments of the update-patterns paper: NT, DIRECT and UPA on queries 1 to 5, without Spark.

    python -m benchmarks.update_patterns [--only 'query 1'] [--profile]

Traffic is generated with the parameters of the paper: one tuple per link and time unit, windows of 2,000 to
200,000 time units, ten partitions. The result is kept in the buffer that the strategy chooses for it, as there.
What arrives is handed over in spans of some tuples; the figure is CPU time per 1,000 tuples once the windows
are full, and the state is what all buffers hold then, the result included.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from benchmarks import charts
from benchmarks.paper_queries import EXPERIMENTS, UNIT_US, UPA_CALENDAR, Experiment, Links, Way
from benchmarks.result_files import save
from panes.delta.delta import TS
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_buffer
from panes.state.buffers.chunked import ChunkedBuffer

WINDOWS = (2_000, 20_000, 200_000, 2_000_000)
"""In time units: the paper's range, and ten times its largest."""
PAPERS_LARGEST = 200_000
SPAN = 1_000
"""Tuples in a span."""
OTHER_SPANS = (100, 10_000)
"""For the chart that shows what the size of a span does, at the paper's largest window."""
MOST_TIMED = 100
"""Spans that are timed, at most."""


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


def spans(
    experiment: Experiment, links: Sequence[str], window: int, tuples: int, timed: int
) -> Iterator[tuple[dict[str, pa.Table], int, int, bool]]:
    """Fills the windows in twentieths of them, then gives spans of `tuples` tuples: some that are not timed, until
    the buffers have the shape that such spans give them, then `timed` ones."""
    short = max(1, tuples // len(links))
    warm = max(8, timed // 3)
    lengths = [max(short, window // 20)] * (window // max(short, window // 20)) + [short] * (warm + timed)
    first = 0
    for number, units in enumerate(lengths):
        arrivals = experiment.traffic.links(links, window, first, units)
        yield arrivals, first * UNIT_US, (first + units) * UNIT_US, number >= len(lengths) - timed
        first += units


def measure(
    experiment: Experiment, way: Way, window: int, tuples: int, profile: cProfile.Profile | None = None
) -> Point:
    """Time per 1,000 tuples once the windows are full."""
    running = Running.of(experiment, way, window)
    links = list(running.dataflow.inputs)
    timed = min(MOST_TIMED, max(20, window // tuples))
    seconds = came = 0.0
    given_before = taken_before = touched_before = 0
    gc.disable()
    for arrivals, since, clock, is_timed in spans(experiment, links, window, tuples, timed):
        if not is_timed:
            running.process(arrivals, since, clock)
            given_before, taken_before = running.given, running.taken_back
            touched_before = running.touched
            continue
        if profile is not None:
            profile.enable()
        begin = time.process_time()
        running.process(arrivals, since, clock)
        seconds += time.process_time() - begin
        if profile is not None:
            profile.disable()
        came += sum(table.num_rows for table in arrivals.values())
    gc.enable()
    given = running.given - given_before
    early = None
    if way is UPA_CALENDAR and given:
        early = (running.taken_back - taken_before) / given
    states = running.states
    return Point(
        experiment.name,
        way.name,
        window,
        tuples,
        1e6 * seconds / came,
        sum(state.rows for state in states),
        sum(chunk.table.nbytes for state in states for chunk in state.chunks),
        given / came,
        1_000 * (running.touched - touched_before) / came,
        early,
    )


def best(experiment: Experiment, way: Way, window: int, tuples: int, runs: int) -> Point:
    """The fastest of some runs: others on the same machine count less."""
    return min((measure(experiment, way, window, tuples) for _ in range(runs)), key=lambda p: p.ms_per_1000)


def draw(points: Sequence[Point]) -> None:
    """Time and state by window, and time by span, with a panel for each experiment."""
    window, span = "window (tuples per link)", "tuples in a span"
    time_, state = "ms per 1,000 tuples", "state, MB"
    by_window = [p for p in points if p.span == SPAN]
    by_span = [p for p in points if p.window == PAPERS_LARGEST]
    charts.lines(
        "update-patterns-time", _panels(by_window, window, time_, lambda p: (p.window, p.ms_per_1000))
    )
    charts.lines(
        "update-patterns-state", _panels(by_window, window, state, lambda p: (p.window, p.state_bytes / 1e6))
    )
    charts.lines(
        "update-patterns-touched",
        _panels(by_window, window, "state rows touched per 1,000", lambda p: (p.window, p.touched_per_1000)),
    )
    charts.lines("update-patterns-spans", _panels(by_span, span, time_, lambda p: (p.span, p.ms_per_1000)))


def _panels(
    points: Sequence[Point], x: str, y: str, place: Callable[[Point], tuple[float, float]]
) -> list[charts.Panel]:
    panels = []
    for experiment in EXPERIMENTS:
        lines: dict[str, list[tuple[float, float]]] = {}
        for point in points:
            if point.experiment == experiment.name:
                lines.setdefault(point.way, []).append(place(point))
        if lines:
            panels.append(
                charts.Panel(experiment.name, {way: sorted(line) for way, line in lines.items()}, x, y)
            )
    return panels


def shown(point: Point) -> str:
    early = "" if point.early_share is None else f"   {point.early_share:.0%} early"
    return (
        f"{point.experiment:<18}{point.way:<36}{point.window:>9,}{point.span:>8,}{point.ms_per_1000:>9.3f} ms"
        f"{point.state_rows:>12,} rows{point.state_bytes / 1e6:>9.2f} MB"
        f"{point.results_per_tuple:>7.2f} results{point.touched_per_1000:>12,.0f} touched{early}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="experiments whose name contains this")
    parser.add_argument("--windows", type=int, nargs="+", default=list(WINDOWS))
    parser.add_argument("--runs", type=int, default=1, help="how often to measure; the best counts")
    parser.add_argument(
        "--profile", action="store_true", help="say where the time goes, at the largest window"
    )
    parser.add_argument("--dry", action="store_true", help="only print; write no results and no charts")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    chosen = [e for e in EXPERIMENTS if arguments.only in e.name]
    if arguments.profile:
        for experiment in chosen:
            for way in experiment.ways:
                profile = cProfile.Profile()
                measure(experiment, way, arguments.windows[-1], SPAN, profile)
                print(experiment.name, way.name)
                pstats.Stats(profile).sort_stats("tottime").print_stats(12)
        return
    sizes = [(window, SPAN) for window in arguments.windows]
    if PAPERS_LARGEST in arguments.windows:
        sizes += [(PAPERS_LARGEST, span) for span in OTHER_SPANS]
    points: list[Point] = []
    for experiment in chosen:
        for way in experiment.ways:
            for window, span in sizes:
                points.append(best(experiment, way, window, span, arguments.runs))
                print(shown(points[-1]), flush=True)
    if not arguments.dry:
        save("update_patterns", [asdict(point) for point in points])
        draw(points)


if __name__ == "__main__":
    main()
