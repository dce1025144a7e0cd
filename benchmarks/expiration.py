"""The ways for time to reach operators, on the two queries of the paper that compares them (Ghanem et al., 2005).

    python -m benchmarks.expiration [--seconds 30] [--only PARTS] [--save]

* distribution: figure 7a. When tuples pass the filter of the count, scattered and together.
* delay: figures 7b and 7c. How late a count behind a filter is, by the share of tuples that pass it, when these
  are scattered and when they come together (7a). 50 tuples/s, a window of 30 s, a span for each scattered tuple.
* multiplicity: figures 8a and 8b. Negative tuples for each positive one that leaves the join below a maximum, and
  tuples that the join takes in per second of CPU time, by how many tuples one that joins meets. There are as many
  results whatever that is.
* selectivity: figures 9a and 9b. How late the maximum over the join is, and the negative tuples for each positive
  one that it processes, by the share of pairs that join. 200 tuples/s.
* throughput: figure 10. Tuples that the query takes in per second of CPU time, by their rate.

In figures 8a and 9b there is a span for each tuple, and a delta without rows counts as a negative tuple where it
tells the clock: it is a message. In the others a span is 100 ms; it begins when its time has come and the one
before is done, and takes its CPU time. Figure 8b is also measured at 100 times the rate of the paper, then in
spans of 1 s. No Spark, one thread.
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import process_time_ns

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.expiration_report import draw
from benchmarks.result_files import load, save
from panes.answers.answer_store import AnswerStore
from panes.answers.output_delay import OutputDelay, output_delay
from panes.delta.delta import BEGINNING, TS
from panes.language import bind, parse
from panes.language.statements import CreateStream, CreateTable, SelectQuery
from panes.operators.dataflow import Dataflow
from panes.operators.input_triggered import InputTriggered
from panes.operators.lower import fragment_of
from panes.operators.measures import Measures
from panes.operators.time_messages import TimeMessages
from panes.optimizer.optimizer import optimize

NAME = "expiration"
SECOND = 1_000_000
WINDOW_S = 30
BURST_S = 2 * WINDOW_S
"""From one burst of tuples that pass to the next, where these come together: so that there are windows without."""
SPAN_US = SECOND // 10
MORE = 100
"""How many times the rates of the paper are also measured."""
Q1 = "SELECT count(*) AS n FROM sales1 [RANGE 30 SECONDS] WHERE item < 0"
JOIN = "SELECT a.price FROM sales1 [RANGE 30 SECONDS] AS a, sales2 [RANGE 30 SECONDS] AS b WHERE a.store = b.store"
Q2 = JOIN.replace("a.price", "max(a.price) AS most")


@dataclass(frozen=True)
class Way:
    """A value of the setting `expiration`."""

    name: str
    strategy: str = "upa"
    kind: type[Dataflow] = Dataflow

    @property
    def tells_clock(self) -> bool:
        """Whether a delta without rows moves the operator on that it comes to."""
        return self.kind is not InputTriggered


WAYS = (
    Way("piggyback"),
    Way("time_message", kind=TimeMessages),
    Way("negative", strategy="nt"),
    Way("input_triggered", kind=InputTriggered),
)


@dataclass(frozen=True)
class Point:
    """One measurement: of which figure and way, at what, how much."""

    figure: str
    curve: str
    x: float
    y: float


class Sales:
    """A catalog of two streams of sales."""

    def __init__(self) -> None:
        self._streams: dict[str, CreateStream] = {}
        for name in ("sales1", "sales2"):
            (statement,) = parse(f"CREATE STREAM {name} (store BIGINT, item BIGINT, price BIGINT)")
            assert isinstance(statement, CreateStream)
            self._streams[name] = statement

    def stream(self, name: str) -> CreateStream | None:
        return self._streams.get(name)

    def table(self, _name: str) -> CreateTable | None:
        return None

    def names(self) -> Sequence[str]:
        return list(self._streams)

    def is_query(self, name: str) -> bool:  # noqa: ARG002
        return False


@dataclass
class Run:
    """A query at work, and what is measured of it."""

    dataflow: Dataflow
    answer: AnswerStore = field(default_factory=AnswerStore)
    delay: OutputDelay = OutputDelay()  # noqa: RUF009
    seconds: float = 0.0
    done: float = 0.0
    """When the last span was done, in seconds of event time."""
    tuples: int = 0
    waited: float = 0.0
    """For how many seconds they waited until their spans were done, together."""
    alone: int = 0
    """Spans in which the join gave no rows."""
    told: int = 0
    """With how many messages the answer heard of time."""
    clock: int = BEGINNING
    filled: dict[str, Measures] = field(default_factory=dict)
    """What steps had done when the windows were full."""

    @classmethod
    def of(cls, sql: str, way: Way) -> Run:
        (query,) = parse(sql)
        assert isinstance(query, SelectQuery)
        plan = optimize(bind(query, Sales()))
        return cls(way.kind(fragment_of(plan, strategy=way.strategy, every_instant=True)))

    def span(self, arrivals: Mapping[str, pa.Table], clock: int, *, is_counted: bool) -> None:
        since, held, before = self.dataflow.told_to(self.clock), self.answer.chunks, self._joined
        if is_counted and not self.filled:
            self.filled = dict(self.dataflow.measures)
        began = process_time_ns()
        delta = self.dataflow.process(arrivals, self.clock, clock)
        self.answer.apply(delta)
        took = (process_time_ns() - began) / 1e9
        if is_counted:
            late = output_delay(delta, held, since, clock)
            self.delay = self.delay.with_other(late)
            self.seconds += took
            self.done = max(self.done, clock / SECOND) + took
            for rows in arrivals.values():
                self.tuples += rows.num_rows
                self.waited += float((self.done - rows.column(TS).to_numpy() / SECOND).sum())
            self.alone += self._joined == before
            self.told += self.dataflow.told_answer
        self.clock = clock

    @property
    def _joined(self) -> float:
        """The rows that joins have given."""
        steps = self.dataflow.fragment.steps
        return sum(self.dataflow.measures[step.name].rows_out for step in steps if step.operator == "Join")

    def measures(self, operator: str) -> Measures:
        """What the step of an operator has done since the windows were full."""
        name = next(step.name for step in self.dataflow.fragment.steps if step.operator == operator)
        pairs = zip(self.dataflow.measures[name].as_tuple(), self.filled[name].as_tuple(), strict=True)
        return Measures(*(after - before for after, before in pairs))


def sales(random: np.random.Generator, at: npt.NDArray[np.int64], stores: int, first: int = 0) -> pa.Table:
    """Tuples of some times, over so many stores from the first one on."""
    count = len(at)
    return pa.table(
        {
            "store": first + random.integers(0, stores, count),
            "item": random.integers(0, 1_200, count),
            "price": random.integers(1, 10_000, count),
            TS: at,
        }
    )


def run(
    sql: str,
    way: Way,
    rate: float,
    seconds: int,
    span_us: int | None,
    made: Callable[[np.random.Generator, npt.NDArray[np.int64]], dict[str, pa.Table]],
    fill_s: int = WINDOW_S,
) -> Run:
    """Fills the windows, then measures for some seconds. Tuples come at random, at a rate for each stream; `made`
    gives those of some times. Without the length of spans there is one for each tuple, of a random stream."""
    random = np.random.default_rng(7)
    found = Run.of(sql, way)
    clock = 0
    while clock < (fill_s + seconds) * SECOND:
        is_counted = clock >= fill_s * SECOND
        length = span_us if is_counted else SECOND
        if length is None:
            clock += 1 + round(random.exponential(SECOND / rate / 2))
            arrivals = made(random, np.array([clock]))
            name = random.choice(list(arrivals))
            arrivals = {name: arrivals[name]}
        else:
            count = random.poisson(rate * length / SECOND)
            at = np.sort(random.integers(clock + 1, clock + length + 1, count))
            clock += length
            arrivals = made(random, at)
        found.span(arrivals, clock, is_counted=is_counted)
    return found


def passing(share: float, together: bool) -> Callable[..., dict[str, pa.Table]]:
    """A stream of which a share passes the filter of Q1: scattered, or together at the end of each two windows."""

    def made(random: np.random.Generator, at: npt.NDArray[np.int64]) -> dict[str, pa.Table]:
        rows = sales(random, at, 100)
        place = at % (BURST_S * SECOND) / (BURST_S * SECOND)
        passes = place >= 1 - share if together else random.random(len(at)) < share
        item = np.where(passes, -1, rows.column("item").to_numpy())
        return {"sales1": rows.set_column(1, "item", pa.array(item))}

    return made


def distribution(_seconds: int) -> Iterator[Point]:
    """The tuples that pass in each second, when 40 percent do."""
    step = 5
    for together in (False, True):
        random, made = np.random.default_rng(7), passing(0.4, together)
        for second in range(0, BURST_S, step):
            at = np.sort(random.integers(second * SECOND + 1, (second + step) * SECOND, 50 * step))
            passed = np.count_nonzero(made(random, at)["sales1"].column("item").to_numpy() < 0)
            yield Point("7a", "together" if together else "scattered", second, int(passed) / step)


def delay(seconds: int) -> Iterator[Point]:
    """Q1, by the share of tuples that pass, scattered, and together at the end of every second window."""
    for share in (0.1, 0.4, 0.7, 1.0):
        for together in (False, True):
            for way in WAYS:
                found = run(
                    Q1,
                    way,
                    50,
                    -(-seconds // BURST_S) * BURST_S if together else seconds,  # whole bursts
                    SPAN_US if together else SECOND // 50,
                    passing(share, together),
                    fill_s=BURST_S + WINDOW_S,  # what leaves late at first is from a burst before
                )
                where = "together" if together else "scattered"
                yield Point(f"7b, {where}", way.name, share, found.delay.mean_us(0) / SECOND)
                yield Point(f"7c, {where}", way.name, share, found.delay.max_us(0) / SECOND)


def meeting(multiplicity: int, rate: int) -> Callable[..., dict[str, pa.Table]]:
    """Two streams in which each tuple that joins meets so many. The more, the fewer join, so that a window always
    has as many results as tuples of one stream."""
    stores = rate * WINDOW_S // multiplicity**2

    def made(random: np.random.Generator, at: npt.NDArray[np.int64]) -> dict[str, pa.Table]:
        found = {}
        for name, sign in (("sales1", 1), ("sales2", -1)):
            rows = sales(random, at, stores, 1)
            alone = random.random(len(at)) >= 1 / multiplicity
            store = np.where(alone, sign * (stores + at), rows.column("store").to_numpy())
            found[name] = rows.set_column(0, "store", pa.array(store))
        return found

    return made


def sharing_half(selectivity: float) -> Callable[..., dict[str, pa.Table]]:
    """Two streams that share half of their stores, as in the paper: so many that this share of pairs joins."""
    stores = round(1 / selectivity / 2)

    def made(random: np.random.Generator, at: npt.NDArray[np.int64]) -> dict[str, pa.Table]:
        return {"sales1": sales(random, at, stores), "sales2": sales(random, at, stores, stores // 2)}

    return made


def _negative(found: Run, way: Way) -> float:
    """Negative tuples, or the messages that take their place, for each positive tuple that the join gives."""
    join = found.measures("Join")
    if way.strategy == "nt" or not way.tells_clock:
        return (join.expired + join.invalid) / join.positive
    return (found.told if way.kind is TimeMessages else found.alone) / join.positive


def multiplicity(seconds: int) -> Iterator[Point]:
    """The join of Q2, by how many tuples of the other window one that joins meets on average."""
    for met in (1, 2, 3, 4, 5):
        for way in WAYS:
            found = run(JOIN, way, 50, -(-seconds // 3), None, meeting(met, 50))
            yield Point("8a", way.name, met, _negative(found, way))
            for figure, rate, span_us in (("8b", 50, SPAN_US), (f"8b, {MORE}×", 50 * MORE, SECOND)):
                found = run(JOIN, way, rate, seconds, span_us, meeting(met, rate))
                yield Point(figure, way.name, met, found.tuples / found.measures("Join").cpu_us * 1e6)


def selectivity(seconds: int) -> Iterator[Point]:
    """Q2, by the share of pairs that join, but for the input-triggered approach, as in the paper."""
    for share in (0.0001, 0.001, 0.005, 0.01):
        for way in WAYS:
            if way.tells_clock:
                found = run(Q2, way, 200, seconds, SPAN_US, sharing_half(share))
                yield Point("9a", way.name, share, found.waited / found.tuples)
                found = run(JOIN, way, 200, -(-seconds // 12), None, sharing_half(share))
                yield Point("9b", way.name, share, _negative(found, way))


def throughput(seconds: int) -> Iterator[Point]:
    """Q2, by the rate of each stream, with one result for each tuple on average."""
    for rate in (50, 100, 200, 350):
        for way in WAYS:
            found = run(Q2, way, rate, seconds, SPAN_US, sharing_half(1 / rate / WINDOW_S))
            yield Point("10", way.name, rate, found.tuples / found.seconds)


PARTS: dict[str, Callable[[int], Iterator[Point]]] = {
    "distribution": distribution,
    "delay": delay,
    "multiplicity": multiplicity,
    "selectivity": selectivity,
    "throughput": throughput,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30, help="how much event time is measured")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas between")
    parser.add_argument(
        "--save", action="store_true", help="write the result file and the charts; other parts stay"
    )
    args = parser.parse_args()
    pa.set_cpu_count(1)
    points = []
    for name in args.only.split(","):
        for point in PARTS[name](args.seconds):
            print(f"{point.figure:10} {point.curve:28} {point.x:>12,.4f} {point.y:>14,.4f}", flush=True)
            points.append(asdict(point))
    if args.save:
        figures = {point["figure"] for point in points}
        others = [
            point for point in (load(NAME) or {"results": []})["results"] if point["figure"] not in figures
        ]
        save(NAME, [*others, *points], seconds=args.seconds)
        draw([*others, *points])


if __name__ == "__main__":
    main()
