"""The ways for time to reach operators, on the two queries of the paper that compares them (Ghanem et al., 2005).

    python -m benchmarks.expiration [--seconds 120] [--only delay,ratio,capacity,throughput]

* delay: figures 7b and 7c. How late a count behind a filter is, by the share of tuples that pass it, when these
  are scattered and when they come together (7a). 50 tuples/s, a window of 30 s, a span for each tuple.
* ratio: figures 8a and 9b. Negative tuples or time messages, and messages that tell the clock, for each positive
  tuple that leaves a join for the maximum above it, by the number of tuples that each one joins with.
* capacity: figure 8b. Tuples that the join takes in per second of CPU time, by the same.
* throughput: figures 9a and 10. How late the maximum over the join is, and how many changes per second of CPU time
  the query gives, by the rate of tuples, in spans of 100 ms. The delay is that of a span and its CPU time.

No Spark, one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import thread_time_ns

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks import charts
from benchmarks.result_files import save
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
BURST_S = 20
"""From one burst of tuples that pass to the next, where these come together."""
Q1 = "SELECT count(*) AS n FROM sales1 [RANGE 30 SECONDS] WHERE item < 0"
Q2 = (
    "SELECT max(a.price) AS most FROM sales1 [RANGE 30 SECONDS] AS a, sales2 [RANGE 30 SECONDS] AS b "
    "WHERE a.store = b.store"
)
PAPER = {
    "7b, 7c": "the delay of the input-triggered approach grows as fewer tuples pass, and more when these come "
    "together; that of negative tuples depends on neither",
    "8a": "one negative tuple for each positive one; join messages need fewer, the more each tuple joins with",
    "8b": "the capacity of the join doubles when negative tuples need not be joined",
    "9a, 9b": "piggybacking has the least delay at all rates, and fewer negative tuples the more results come",
    "10": "throughput under load: negative tuples < input-triggered < optimized",
}


@dataclass(frozen=True)
class Way:
    """A value of the setting `expiration`."""

    name: str
    strategy: str = "upa"
    kind: type[Dataflow] = Dataflow


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
    results: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    """The CPU seconds that changes waited for, together."""
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
        since, held = self.dataflow.told_to(self.clock), self.answer.chunks
        if is_counted and not self.filled:
            self.filled = dict(self.dataflow.measures)
        began = thread_time_ns()
        delta = self.dataflow.process(arrivals, self.clock, clock)
        self.answer.apply(delta)
        took = (thread_time_ns() - began) / 1e9
        if is_counted:
            late = output_delay(delta, held, since, clock)
            self.delay = self.delay.with_other(late)
            self.results += delta.rows
            self.seconds += took
            self.waited += late.changes * took
        self.clock = clock

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
    span_us: int,
    made: Callable[[np.random.Generator, npt.NDArray[np.int64]], dict[str, pa.Table]],
) -> Run:
    """Fills the windows, then measures for some seconds. Tuples come at random, at a rate for each stream; `made`
    gives those of some times."""
    random = np.random.default_rng(7)
    found = Run.of(sql, way)
    clock = 0
    while clock < (WINDOW_S + seconds) * SECOND:
        is_counted = clock >= WINDOW_S * SECOND
        length = span_us if is_counted else SECOND
        count = random.poisson(rate * length / SECOND)
        at = np.sort(random.integers(clock + 1, clock + length + 1, count))
        clock += length
        found.span(made(random, at), clock, is_counted=is_counted)
    return found


def delay(seconds: int) -> Iterator[Point]:
    """Q1, by the share of tuples that pass, scattered over the window and together at its end."""
    for share in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0):

        def made(
            random: np.random.Generator,
            at: npt.NDArray[np.int64],
            together: bool = False,
            share: float = share,
        ) -> dict[str, pa.Table]:
            rows = sales(random, at, 100)
            place = at % (BURST_S * SECOND) / (BURST_S * SECOND)
            passes = place >= 1 - share if together else random.random(len(at)) < share
            item = np.where(passes, -1, rows.column("item").to_numpy())
            return {"sales1": rows.set_column(1, "item", pa.array(item))}

        for together in (False, True):
            for way in WAYS:
                found = run(
                    Q1, way, 50, seconds, SECOND // 50, lambda r, at, together=together: made(r, at, together)
                )
                curve = f"{way.name}, {'together' if together else 'scattered'}"
                yield Point("7b: mean delay, s", curve, share, found.delay.mean_us(0) / SECOND)
                yield Point("7c: greatest delay, s", curve, share, found.delay.max_us(0) / SECOND)


def _joined(stores: int) -> Callable[..., dict[str, pa.Table]]:
    """Two streams that share half of their stores, as the paper has them."""

    def made(random: np.random.Generator, at: npt.NDArray[np.int64]) -> dict[str, pa.Table]:
        return {"sales1": sales(random, at, stores), "sales2": sales(random, at, stores, stores // 2)}

    return made


def ratio(seconds: int) -> Iterator[Point]:
    """Q2, by how many tuples of the other window each one joins with on average."""
    for multiplicity in (1, 2, 3, 4, 5):
        stores = 50 * WINDOW_S // 2 // multiplicity
        for way in WAYS:
            found = run(Q2, way, 50, seconds, SECOND // 10, _joined(stores))
            join = found.measures("Join")
            negative, messages = join.expired + join.invalid, join.messages
            if way.kind is TimeMessages:
                # Each takes the place of the negative tuples of an instant.
                negative = found.measures("GroupBy").messages
            yield Point("8a: negative to positive", way.name, multiplicity, negative / join.positive)
            yield Point("9b: clock messages to positive", way.name, multiplicity, messages / join.positive)


def capacity(seconds: int) -> Iterator[Point]:
    """The join of Q2, by the same."""
    for multiplicity in (1, 2, 3, 4, 5):
        stores = 50 * WINDOW_S // 2 // multiplicity
        for way in WAYS:
            join = run(Q2, way, 50, seconds, SECOND // 10, _joined(stores)).measures("Join")
            positive = join.rows_in / (2 if way.strategy == "nt" else 1)
            yield Point(
                "8b: tuples joined per CPU second", way.name, multiplicity, positive / join.cpu_us * 1e6
            )


def throughput(seconds: int) -> Iterator[Point]:
    """Q2, by the rate of each stream."""
    for rate in (50, 100, 200, 350):
        for way in WAYS:
            found = run(Q2, way, rate, seconds, SECOND // 10, _joined(rate * WINDOW_S // 2))
            changes = max(1, found.delay.changes)
            waited = found.delay.mean_us(0) / SECOND + found.waited / changes
            yield Point("9a: mean delay, s", way.name, rate, waited)
            yield Point("10: changes per CPU second", way.name, rate, changes / found.seconds)


PARTS: dict[str, Callable[[int], Iterator[Point]]] = {
    "delay": delay,
    "ratio": ratio,
    "capacity": capacity,
    "throughput": throughput,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=120, help="how much event time is measured")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas between")
    args = parser.parse_args()
    points = []
    for name in args.only.split(","):
        for point in PARTS[name](args.seconds):
            print(f"{point.figure:34} {point.curve:28} {point.x:>8,.2f} {point.y:>14,.4f}", flush=True)
            points.append(point)
    if args.only == parser.get_default("only"):
        save(NAME, [asdict(point) for point in points], paper=PAPER)
        charts.lines(NAME, [_panel(figure, points) for figure in sorted({p.figure for p in points})])


def _panel(figure: str, points: Sequence[Point]) -> charts.Panel:
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        if point.figure == figure:
            curves.setdefault(point.curve, []).append((point.x, point.y))
    return charts.Panel(figure, curves, "share" if "7" in figure else "", "", is_log_x=False, is_log_y=False)


if __name__ == "__main__":
    main()
