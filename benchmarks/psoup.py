"""The experiments of the PSoup paper: what an invocation takes, and how fast tuples may come.

    python -m benchmarks.psoup [--only selections,joins,aggregates,arrival,composite] [--small] [--save]

PSoup-C is `answers = 'eager'` (answers are kept up to date), PSoup-P is 'lazy' (windows are applied when somebody
asks), NoMat is 'none': the registered plan is run over the history. An answer is asked for once after each of some
epochs, so that nobody has it ready. Times are those of the processor.

* selections: figures 7a (equality) and 7b (intervals), response time by window; table 2, by number of intervals.
* joins: figure 8, response time of joins by inequality.
* aggregates: section 6, a BEGIN … END aggregate from a store of tuples by time, and over the history.
* arrival: figure 9, tuples per second by the number of selections: with and without the query index, with and
  without keeping answers up to date; on one core, without Spark.
* composite: figure 11, a new join query probes the tuples of the other stream with all of its own at once, or with
  one after the other; on one core, without Spark.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

import panes
from benchmarks import charts
from benchmarks.psoup_workload import SECOND_STREAM, STREAM, Tuples, joins, selections
from benchmarks.result_files import load, save
from panes.answers.answer_store import AnswerStore
from panes.delta.delta import EXP, TS, Delta
from panes.delta.evaluate import mask_of
from panes.delta.rows import take
from panes.language import bind, parse
from panes.language import statements as st
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node, Select
from panes.plan.walk import walk
from panes.sharing.index_slice import IndexSlice
from panes.sharing.selection import selection_of
from panes.sharing.selection_store import SelectionStore
from panes.sharing.template import template_of

NAME = "psoup"
WAYS = {"eager": "PSoup-C", "lazy": "PSoup-P", "none": "NoMat"}
INTERVALS = (1, 2, 4)
FIXED_WINDOW = 2**15
BATCH, BATCHES, WINDOW = 1_000, 4, 1_000
"""Of the arrival rate: tuples that come together, how often, and the window of all queries."""
RELATIONS = {"Eq/Ineq": ("<", "="), "Ineq/Eq": ("=", "<"), "Ineq/Ineq": ("<", "<")}
"""How the join compares, and the condition on the other stream that all probes share: named as in figure 11, with
the shared one first."""


@dataclass(frozen=True)
class Point:
    """One measurement: of which figure and line, at what size, how much."""

    figure: str
    line: str
    x: int
    y: float


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    windows: tuple[int, ...] = tuple(2**power for power in (7, 9, 11, 13, 15, 16))
    join_windows: tuple[int, ...] = (64, 128, 256, 576)
    aggregate_windows: tuple[int, ...] = tuple(2**power for power in (10, 12, 14, 16, 18, 20))
    queries: int = 4
    epochs: int = 3
    registered: tuple[int, ...] = (128, 512, 2048)
    probing: tuple[int, ...] = (64, 256, 1024)
    probed: int = 4096


SMALL = Size((128, 1024), (64,), (1024, 16384), 2, 2, (128,), (64,), 512)


class _Shelf:
    """A catalog of two streams, for measurements without a database."""

    def __init__(self) -> None:
        self._streams = {"r": parse(STREAM)[0], "q": parse(SECOND_STREAM)[0]}

    def stream(self, name: str) -> st.CreateStream | None:
        found = self._streams.get(name)
        return found if isinstance(found, st.CreateStream) else None

    def table(self, _name: str) -> None:
        return None

    def names(self) -> Sequence[str]:
        return list(self._streams)

    def is_query(self, name: str) -> bool:  # noqa: ARG002
        return False


def selections_(size: Size) -> Iterator[Point]:
    """Figures 7a and 7b, and table 2."""
    asked: list[tuple[str, int, str]] = []
    for window in size.windows:
        for figure, is_equality in (("7a", True), ("7b", False)):
            texts = selections(f"RANGE {window} MILLISECONDS", seed=window, is_equality=is_equality)
            asked += [(figure, window, sql) for sql in islice(texts, size.queries)]
    for count in INTERVALS:
        texts = selections(f"RANGE {FIXED_WINDOW} MILLISECONDS", seed=count, count=count)
        asked += [("table 2", count, sql) for sql in islice(texts, 2 * size.queries)]
    yield from _responses([STREAM], asked, max(*size.windows, FIXED_WINDOW), size.epochs)


def joins_(size: Size) -> Iterator[Point]:
    """Figure 8."""
    asked = [
        ("8", window, sql)
        for window in size.join_windows
        for sql in islice(joins(f"RANGE {window} MILLISECONDS", seed=window), size.queries)
    ]
    yield from _responses([STREAM, SECOND_STREAM], asked, 2 * max(size.join_windows), size.epochs)


def aggregates(size: Size) -> Iterator[Point]:
    """A BEGIN … END aggregate against the size of its window."""
    asked = [
        (
            "6",
            window,
            "SELECT count(*) AS n, sum(a) AS s, max(b) AS m FROM r WHERE c >= 0 "
            f"BEGIN (NOW - INTERVAL {window - 1 - shorter} MILLISECONDS) END (NOW)",
        )
        for window in size.aggregate_windows
        for shorter in range(size.queries)
    ]
    yield from _responses([STREAM], asked, max(size.aggregate_windows), size.epochs, ways=("lazy", "none"))


def _responses(
    streams: Sequence[str],
    asked: Sequence[tuple[str, int, str]],
    most: int,
    epochs: int,
    ways: Sequence[str] = tuple(WAYS),
) -> Iterator[Point]:
    """The median time of an invocation by figure, size and way."""
    times: dict[tuple[str, str, int], list[float]] = {}
    with panes.connect() as db:
        db.sql("; ".join(streams))
        registered = []
        for number, (figure, x, sql) in enumerate(asked):
            for way in ways:
                db.sql(f"CREATE QUERY q_{number}_{way} WITH (answers = '{way}') AS {sql}")
                registered.append(((figure, WAYS[way], x), db.query(f"q_{number}_{way}")))
        tuples = {statement.split()[2]: Tuples(seed) for seed, statement in enumerate(streams)}
        for count in (*[most // 4] * 4, *[64] * epochs):
            for name, source in tuples.items():
                db.push(name, source.take(count))
            db.run()
            for key, query in registered if count == 64 else ():
                began = time.process_time()
                query.invoke()
                times.setdefault(key, []).append(time.process_time() - began)
    for (figure, line, x), found in times.items():
        yield Point(figure, line, x, statistics.median(found) * 1e3)


def arrival(size: Size) -> Iterator[Point]:
    """Figure 9."""
    plans = [_plan(sql) for sql in islice(selections(f"RANGE {WINDOW} MILLISECONDS"), max(size.registered))]
    for count in size.registered:
        for line, work in (
            ("P shared", _store),
            ("P unshared", _marks),
            ("C shared", _matched_answers),
            ("C unshared", _answers),
        ):
            add, tuples, seconds = work(plans[:count]), Tuples(), []
            for number in range(BATCHES):
                rows = tuples.take(BATCH)
                rows = rows.append_column(TS, pa.array(rows.column("at").to_numpy() * 1_000))
                since = int(rows.column(TS)[0].as_py()) - 1
                began = time.process_time()
                add(rows, since)
                # The first tuples fill the windows.
                seconds += [time.process_time() - began] if number else []
            yield Point("9", line, count, BATCH / statistics.median(seconds))


Add = Callable[[pa.Table, int], None]
"""Takes in the tuples of a span that begins after an instant."""


def _index(plans: Sequence[Node]) -> IndexSlice:
    found = template_of(plans[0])
    assert found is not None
    readings = [selection_of(plan) for plan in plans]
    return IndexSlice.of(
        found[0].matched[0],
        {n: reading.predicate for n, reading in enumerate(readings) if reading is not None},
    )


def _store(plans: Sequence[Node]) -> Add:
    """The query index and the store of selections."""
    store, index = SelectionStore(), _index(plans)
    return lambda rows, since: store.add(rows, index, since)


def _marks(plans: Sequence[Node]) -> Add:
    """The tuples once, and a bitmap per query that its own predicate gives."""
    predicates = [next(n.predicate for n in walk(plan) if isinstance(n, Select)) for plan in plans]
    kept: list[object] = []

    def add(rows: pa.Table, _since: int) -> None:
        named = rows.rename_columns([n if n.startswith("_") else f"r.{n}" for n in rows.column_names])
        marks = [np.packbits(np.asarray(mask_of(predicate, named))) for predicate in predicates]
        kept.append((rows, marks))

    return add


def _matched_answers(plans: Sequence[Node]) -> Add:
    """The query index, and an answer per query that is kept up to date."""
    index, answers = _index(plans), [AnswerStore() for _ in plans]

    def add(rows: pa.Table, _since: int) -> None:
        named = index.named(rows)
        matched = index.match(named)
        clock = int(rows.column(TS)[-1].as_py())
        exp = pa.array(rows.column(TS).to_numpy() + WINDOW * 1_000)
        alive = named.append_column(EXP, exp)
        queries, bitmaps = matched.by_query()
        bits = np.unpackbits(bitmaps, axis=1, count=rows.num_rows, bitorder="little")
        for query, mine in zip(queries, bits, strict=True):
            answers[query].apply(Delta(take(alive, np.flatnonzero(mine)), clock))

    return add


def _answers(plans: Sequence[Node]) -> Add:
    """The operators of each query, and its answer."""
    flows, answers = [lower(plan) for plan in plans], [AnswerStore() for _ in plans]

    def add(rows: pa.Table, since: int) -> None:
        clock = int(rows.column(TS)[-1].as_py())
        for flow, answer in zip(flows, answers, strict=True):
            answer.apply(flow.process({"r": rows}, since, clock))

    return add


def composite(size: Size) -> Iterator[Point]:
    """Figure 11: tuples of r probe those of q, all at once or one by one."""
    for name, (compared, shared) in RELATIONS.items():
        plan = _plan(
            "SELECT r.at, q.at AS other FROM r [RANGE 1 HOUR], q [RANGE 1 HOUR] "
            f"WHERE r.a {compared} q.b AND q.b {shared} 128"
        )
        for count in size.probing:
            probed = _timed(Tuples(1).take(size.probed))
            last = int(probed.column(TS)[-1].as_py())
            probing = _timed(Tuples(2).take(count)).set_column(5, TS, pa.array(np.full(count, last + 1)))
            for line, parts in (
                ("composite", [probing]),
                ("separate", [probing.slice(n, 1) for n in range(count)]),
            ):
                flow = lower(plan)
                flow.process({"r": probing.slice(0, 0), "q": probed}, 0, last)
                began = time.process_time()
                for number, part in enumerate(parts):
                    moved = part.set_column(5, TS, pa.array(np.full(part.num_rows, last + 1 + number)))
                    flow.process({"r": moved, "q": probed.slice(0, 0)}, last + number, last + 1 + number)
                yield Point("11", f"{name}, {line}", count, (time.process_time() - began) * 1e3)


def _timed(rows: pa.Table) -> pa.Table:
    return rows.append_column(TS, pa.array(rows.column("at").to_numpy() * 1_000))


def _plan(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, st.SelectQuery)
    return optimize(bind(query, _Shelf()))


PARTS: dict[str, Callable[[Size], Iterator[Point]]] = {
    "selections": selections_,
    "joins": joins_,
    "aggregates": aggregates,
    "arrival": arrival,
    "composite": composite,
}
PANELS = {
    "7a": ("figure 7a: equality", "tuples in the window", "ms"),
    "7b": ("figure 7b: intervals", "tuples in the window", "ms"),
    "8": ("figure 8: joins", "tuples in each window", "ms"),
    "6": ("section 6: aggregates", "tuples in the window", "ms"),
    "9": ("figure 9: arrival", "registered queries", "tuples/s of one core"),
    "11": ("figure 11: composite tuples", "tuples that probe", "ms"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas between")
    parser.add_argument("--small", action="store_true", help="a short run, to see that all of it works")
    parser.add_argument("--save", action="store_true", help="keep the results, and draw them")
    args = parser.parse_args()
    points: list[Point] = []
    for name in args.only.split(","):
        for point in PARTS[name](SMALL if args.small else Size()):
            print(f"{point.figure:8} {point.line:24} {point.x:>10,}  {point.y:>14,.3f}", flush=True)
            points.append(point)
    if args.save:
        _save(points)


def _save(points: Sequence[Point]) -> None:
    """Keeps the results, with those of the last run for the figures that were not measured, and draws them."""
    new = {point.figure for point in points}
    before = [Point(**result) for result in (load(NAME) or {"results": []})["results"]]
    points = [*points, *(point for point in before if point.figure not in new)]
    save(NAME, [asdict(point) for point in points])
    drawn = []
    for figure, (title, x, y) in PANELS.items():
        lines: dict[str, list[tuple[float, float]]] = {}
        for point in points:
            if point.figure == figure:
                lines.setdefault(point.line, []).append((point.x, point.y))
        if lines:
            drawn.append(charts.Panel(title, lines, x, y))
    charts.lines(NAME, drawn)


if __name__ == "__main__":
    main()
