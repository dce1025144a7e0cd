"""Thousands of standing queries: what they cost as tuples come, to register, and to invoke.

    python -m benchmarks.standing_queries [--only kernels,templates,ingest,…] [--queries 10000]

The workload is PSoup's (`benchmarks/psoup_workload.py`).

* kernels: the index and the store of selections alone, without Spark, in CPU time.
* templates: rows/s of one core in ingest tasks, without Spark, with 1,000 aggregates of 1, 10, 50 or 100 templates
  (windows of as many lengths), over the integers of the paper and over numbers and texts of many values.
* ingest: rows/s with 10 to 10,000 registered selections, with the index (`SET share_from = 1`); what registering
  them takes; and `invoke` of an answer of 1,000 rows while epochs run and all of them are registered.
* in_turn: rows/s without the index, where every query is computed on its own.
* windows: what 10 to 1,000 registered aggregates over one stream cost, each with a window of its own, which
  share one synopsis, in rows/s and in the time of all processors; what they keep; and `invoke` of each once.
* response: `invoke` against the same query asked anew, over windows of 2^10 to 2^20 tuples.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from random import Random
from threading import Event, Thread
from typing import ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

import panes
from benchmarks import charts
from benchmarks.psoup_workload import START_MS, STREAM, Tuples, conditions, selections
from benchmarks.result_files import load, save
from benchmarks.tree_cpu_seconds import tree_cpu_seconds
from panes.delta.delta import TS
from panes.language import bind, parse
from panes.language import statements as st
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from panes.sharing.group import Group
from panes.sharing.index_slice import IndexSlice
from panes.sharing.query_index import SliceKey
from panes.sharing.selection import Selection, selection_of
from panes.sharing.selection_store import SelectionStore
from panes.sharing.shared_indexes import Slices
from panes.sharing.stream_indexes import StreamIndexes
from panes.sharing.template import template_of, templates_of
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalInput

P = ParamSpec("P")
T = TypeVar("T")

NAME, WINDOWS_NAME = "standing-queries", "standing-windows"
COUNTS = (10, 100, 1_000, 10_000)
WINDOW = "RANGE 100 SECONDS"
INGESTED = 400_000
"""Tuples of which the rate is measured, with the index."""
IN_TURN = 100_000
"""The same without."""
HOPELESS_S = 60.0
"""When that takes so long, more queries are not tried."""
SIZES = tuple(2**power for power in (10, 12, 14, 16, 17, 18, 20))
INVOKED = 15
RUNNING_S = 20.0
NEVER = 1_000_000
AGGREGATES = ("count(*) AS n", "sum(a) AS n", "avg(b) AS n", "sum(a) AS n, count(*) AS m")
AGGREGATED = 200_000
"""Tuples of which the rate is measured, for aggregates."""
DIFFERENT = "aggregates of different windows"
"""The curves of these."""


TEMPLATES = (1, 10, 50, 100)
TEMPLATED = 1_000
"""Queries that are of so many templates."""
READ = "CREATE STREAM r (at BIGINT, a DOUBLE, b STRING, c BIGINT) TIMESTAMP BY at MILLISECONDS"
"""A stream of attributes with many values each."""


@dataclass(frozen=True)
class Point:
    """One measurement: of what, at what size, how much."""

    curve: str
    x: int
    y: float
    unit: str


class _Shelf:
    """A catalog of one stream, for measurements without a database."""

    def __init__(self, stream: str = STREAM) -> None:
        (self._stream,) = parse(stream)

    def stream(self, name: str) -> st.CreateStream | None:
        assert isinstance(self._stream, st.CreateStream)
        return self._stream if name == "r" else None

    def table(self, _name: str) -> None:
        return None

    def names(self) -> Sequence[str]:
        return ["r"]

    def is_query(self, name: str) -> bool:  # noqa: ARG002
        return False


def kernels(most: int) -> Iterator[Point]:
    """Matching and storing 20,000 tuples at a time, and reading one answer over 2^17."""
    shelf = _Shelf()
    found: list[Selection] = []
    matched = None
    for sql in islice(selections("RANGE 131072 MILLISECONDS"), most):
        (query,) = parse(sql)
        assert isinstance(query, st.SelectQuery)
        plan = optimize(bind(query, shelf))
        shared, reading = template_of(plan), selection_of(plan)
        assert shared is not None
        assert reading is not None
        matched = shared[0].matched[0]
        found.append(reading)
    assert matched is not None
    for count in _up_to(most):
        members = {query: reading.predicate for query, reading in enumerate(found[:count])}
        index, built = _cpu(IndexSlice.of, matched, members)
        _, added = _cpu(index.with_members, {most: found[0].predicate})
        store, tuples = SelectionStore(), Tuples()
        times = []
        for _ in range(8):
            rows = tuples.take(20_000)
            rows = rows.append_column(TS, pa.array(rows.column("at").to_numpy() * 1_000))
            times.append(_cpu(store.add, rows, index, -1)[1])
        now = int(rows.column(TS)[-1].as_py())
        reads = [_cpu(store.answer, query, found[query], now)[1] for query in list(members)[:100]]
        yield Point("kernel: tuples/s", count, 20_000 / statistics.median(times), "rows/s")
        yield Point("kernel: building the index", count, built * 1e3, "ms")
        yield Point("kernel: adding a query to the index", count, added * 1e3, "ms")
        yield Point("kernel: reading an answer over 2^17", count, statistics.median(reads) * 1e3, "ms")


def templates(most: int) -> Iterator[Point]:
    """What the steps before the shuffle cost, for all queries together, over 50,000 tuples at a time."""
    for name, stream, asking, taken in (
        ("integers", STREAM, _intervals(), Tuples().take),
        ("many values", READ, _many_values(), _read),
    ):
        asked = list(islice(asking, min(most, TEMPLATED)))
        for count in TEMPLATES:
            texts = [
                f"SELECT count(*) AS n FROM r [RANGE {1 + number % count} SECONDS SLIDE 1 SECOND] WHERE {part}"
                for number, part in enumerate(asked)
            ]
            groups = _groups(texts, stream)
            times = [_cpu(_ingested, groups, taken(50_000))[1] for _ in range(5)]
            yield Point(f"templates: ingest of {name}", count, 50_000 / statistics.median(times), "rows/s")


_Grouped = list[tuple[PhysicalInput, Slices]]


def _groups(texts: Sequence[str], stream: str) -> _Grouped:
    """The input of the plan of each group of some queries, and its slice of the index of the stream."""
    shelf = _Shelf(stream)
    groups: dict[str, Group] = {}
    members: dict[str, dict[int, Node]] = {}
    for number, text in enumerate(texts):
        (query,) = parse(text)
        assert isinstance(query, st.SelectQuery)
        plan = optimize(bind(query, shelf))
        key = templates_of(plan)[0].key
        groups.setdefault(key, Group.of(plan, key))
        members.setdefault(key, {})[number] = plan
    for key, group in groups.items():
        group.update(members[key])
    numbered = enumerate(groups.values())
    slices = StreamIndexes().update({SliceKey(number, 0): group.slices[0] for number, group in numbered})
    plans = [make_plan(group.template.plan) for group in groups.values()]
    return [(plan.stages[0].inputs[0], (slices[SliceKey(number, 0)],)) for number, plan in enumerate(plans)]


def _ingested(groups: _Grouped, rows: pa.Table) -> None:
    """Computes the inputs of all plans from some rows, as an ingest task does."""
    run = FragmentRun(rows.append_column(TS, pa.array(rows.column("at").to_numpy() * 1_000)))
    for source, slices in groups:
        run.input(source, 0, slices)


def _intervals() -> Iterator[str]:
    chance = Random(7)
    while True:
        yield conditions(chance)


def _many_values() -> Iterator[str]:
    chance = Random(7)
    while True:
        low = chance.random()
        text, number = f"name {chance.randrange(5000)}", chance.randrange(10**9)
        yield f"a BETWEEN {low} AND {low + 0.1} AND b < '{text}' AND c > {number}"


def _read(count: int) -> pa.Table:
    chance = np.random.default_rng(3)
    names = pa.array([f"name {number}" for number in range(5000)])
    return pa.table(
        {
            "at": np.arange(START_MS, START_MS + count),
            "a": chance.random(count),
            "b": names.take(pa.array(chance.integers(0, 5000, count))),
            "c": chance.integers(0, 10**9, count),
        }
    )


def ingest(most: int) -> Iterator[Point]:
    return _growing(most, "with the index", share_from=1, rows=INGESTED)


def in_turn(most: int) -> Iterator[Point]:
    return _growing(most, "each in turn", share_from=NEVER, rows=IN_TURN)


def _growing(most: int, curve: str, *, share_from: int, rows: int) -> Iterator[Point]:
    """More and more queries in one database. They are put to the tuples that are there before the clock runs."""
    registering: list[float] = []
    tuples, queries = Tuples(), selections(WINDOW)
    with panes.connect() as db:
        db.sql(f"SET share_from = {share_from}; {STREAM}")
        db.push("r", tuples.take(100_000))
        for count in _up_to(most):
            for sql in islice(queries, count - len(registering)):
                registering.append(_wall(db.register, sql)[1])
            db.push("r", tuples.take(1_000))
            db.run()
            db.push("r", tuples.take(rows))
            _, seconds = _wall(db.run)
            yield Point(f"ingest, {curve}", count, rows / seconds, "rows/s")
            if seconds > HOPELESS_S:
                break
        if share_from == 1:
            yield Point("registering, in all", len(registering), sum(registering), "s")
            for x, times in ((10, registering[10:15]), (len(registering), registering[-5:])):
                yield Point("registering one more", x, statistics.median(times) * 1e3, "ms")
            yield from _while_running(db, tuples)


def _while_running(db: panes.Database, tuples: Tuples) -> Iterator[Point]:
    """Answers of 1,000 rows, while tuples come and epochs run."""
    query = db.register("SELECT at, a, b FROM r [RANGE 1 SECOND] WHERE a BETWEEN 0 AND 255")
    db.run()
    stop, times, sizes = Event(), [], []

    def feed() -> None:
        while not stop.is_set():
            db.push("r", tuples.take(20_000))
            stop.wait(0.5)

    feeder = Thread(target=feed)
    db.start()
    feeder.start()
    end = time.perf_counter() + RUNNING_S
    try:
        while time.perf_counter() < end:
            answer, seconds = _wall(query.invoke)
            times.append(seconds)
            sizes.append(len(answer))
            time.sleep(0.002)
    finally:
        stop.set()
        feeder.join()
        db.stop()
    rows = round(statistics.median(sizes))
    yield Point("invoke while epochs run, median", rows, _at(times, 0.5), "ms")
    yield Point("invoke while epochs run, p99", rows, _at(times, 0.99), "ms")


def response(_most: int) -> Iterator[Point]:
    """The same selections over windows of many sizes: invoked, and asked anew."""
    with panes.connect() as db:
        db.sql(f"SET share_from = 1; {STREAM}")
        texts = {
            size: list(islice(selections(f"RANGE {size} MILLISECONDS", seed=11), INVOKED)) for size in SIZES
        }
        queries = {size: [db.register(sql) for sql in of_size] for size, of_size in texts.items()}
        tuples = Tuples()
        for _ in range(4):
            db.push("r", tuples.take(max(SIZES) // 4))
            db.run()
        for size in sorted(SIZES):
            # Each once: an answer that was asked for before is still at hand.
            kept = [_wall(query.invoke)[1] for query in queries[size]]
            anew = [_wall(db.sql, sql)[1] for sql in texts[size]]
            yield Point("response: invoke", size, statistics.median(kept) * 1e3, "ms")
            yield Point("response: asked anew", size, statistics.median(anew) * 1e3, "ms")


def windows(most: int) -> Iterator[Point]:
    """Aggregates by group whose windows are all different, in one database per number of them: a synopsis begins
    anew when one comes that needs more, and the clock is not to run for that."""
    counts = _up_to(min(most, 1_000))
    # In the first one Java compiles what runs often.
    for number, count in enumerate([counts[0], *counts]):
        tuples = Tuples()
        with panes.connect() as db:
            db.sql(f"SET share_from = 1; {STREAM}")
            queries = [db.register(sql) for sql in islice(aggregates(), count)]
            db.push("r", tuples.take(10_000))
            db.run()
            db.push("r", tuples.take(AGGREGATED))
            cpu = tree_cpu_seconds()
            _, seconds = _wall(db.run)
            cpu = tree_cpu_seconds() - cpu
            if not number:
                continue
            yield Point(DIFFERENT, count, AGGREGATED / seconds, "rows/s")
            yield Point(f"{DIFFERENT}, of all processors", count, cpu, "s")
            (synopsis,) = db.sql("SHOW SYNOPSES").to_pylist()
            yield Point(f"{DIFFERENT}, kept", count, synopsis["bytes"] / 1e6, "MB")
            invoked = [_cpu(query.invoke)[1] for query in queries[:100]]
            yield Point(f"{DIFFERENT}, invoke", count, _at(invoked, 0.5), "ms")


def aggregates() -> Iterator[str]:
    """Aggregates without end, over windows of up to 100 seconds."""
    number = 0
    while True:
        length, slide = 1 + number % 100, (1, 2, 5)[number // 100 % 3]
        asked = AGGREGATES[number // 300 % len(AGGREGATES)]
        window = f"[RANGE {length} SECONDS SLIDE {slide} SECONDS]"
        yield f"SELECT c, {asked} FROM r {window} GROUP BY c"
        number += 1


PARTS: dict[str, Callable[[int], Iterator[Point]]] = {
    "kernels": kernels,
    "templates": templates,
    "ingest": ingest,
    "in_turn": in_turn,
    "response": response,
    "windows": windows,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas between")
    parser.add_argument("--queries", type=int, default=COUNTS[-1], help="how many queries at most")
    args = parser.parse_args()
    points: list[Point] = []
    for name in args.only.split(","):
        for point in PARTS[name](args.queries):
            print(f"{point.curve:45} {point.x:>10,}  {point.y:>14,.2f} {point.unit}", flush=True)
            points.append(point)
    _save(points)


def _save(points: Sequence[Point]) -> None:
    """Keeps the results, with those of the last run for the parts that were not run, and draws them."""
    different = [point for point in points if point.curve.startswith(DIFFERENT)]
    if different:
        save(WINDOWS_NAME, [asdict(point) for point in different])
    points = [point for point in points if point not in different]
    if not points:
        return
    new = {point.curve for point in points}
    before = [Point(**result) for result in (load(NAME) or {"results": []})["results"]]
    points = [*points, *(point for point in before if point.curve not in new)]
    save(NAME, [asdict(point) for point in points])
    panels = [
        charts.Panel("ingest", _lines(points, "ingest, "), "registered queries", "rows/s"),
        charts.Panel("response", _lines(points, "response: "), "tuples in the window", "ms"),
    ]
    charts.lines(NAME, [panel for panel in panels if panel.lines])


def _lines(points: Sequence[Point], prefix: str) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        if point.curve.startswith(prefix):
            found.setdefault(point.curve.removeprefix(prefix), []).append((point.x, point.y))
    return found


def _up_to(most: int) -> list[int]:
    return [count for count in COUNTS if count <= most] or [most]


def _cpu(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    began = time.process_time()
    return work(*args, **kwargs), time.process_time() - began


def _wall(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T, float]:
    began = time.perf_counter()
    return work(*args, **kwargs), time.perf_counter() - began


def _at(times: Sequence[float], share: float) -> float:
    return float(np.quantile(times, share)) * 1e3


if __name__ == "__main__":
    main()
