"""Joins of many windows, as the thesis measures them (Golab, 5.4): `python -m benchmarks.joins`.

Its generator gives a tuple per step, of stream i with probability λi / Σ λ, with a key drawn evenly from the first
vi. A time unit is as many steps as there are tuples in it. The parts:

figure_5_2   four global orders by eight algorithms, relative to the best order, beside what the model predicts
figures_5_3_and_5_4   time by slide: nested loops, and two and five hash buckets
plans        a pipeline beside the best trees of joins: time, state, the state that the parameters of the streams
             let expect, and which of them is chosen
lost         the results that are not seen without RESTORE, by slide
bands        a join by a band beside the product of the same windows

Nested loops and buckets are made with keys that have one, two, five or ten values, and a condition on the column
itself. All runs are of one process without Spark, on one core; windows are filled first.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.charts import Panel, lines
from benchmarks.result_files import load, save
from panes.delta.delta import BEGINNING, TS
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.optimizer.candidates import candidates
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.estimates import Estimates
from panes.optimizer.nested_loop_cost import JoinedStream, nested_loop_cost
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.expressions import Call, Column, Expression, Literal, conjunction, conjuncts
from panes.plan.join_tree import joined
from panes.plan.nodes import Istream, Join, MultiJoin, Node, Project, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.shape import shape
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow

UNIT = 1_000_000
"""Microseconds of event time in a time unit of the thesis."""

Streams = Mapping[str, JoinedStream]
TABLE_5_3 = {
    "s1": JoinedStream(10, 100, 500),
    "s2": JoinedStream(1, 100, 50),
    "s3": JoinedStream(1, 200, 40),
    "s4": JoinedStream(3, 100, 5),
}
TABLE_5_5 = {
    "s1": JoinedStream(100, 100, 40),
    "s2": JoinedStream(1, 100, 100),
    "s3": JoinedStream(1, 100, 8),
    "s4": JoinedStream(1, 100, 5),
}
TABLE_5_6 = {
    "s1": JoinedStream(11, 100, 200),
    "s2": JoinedStream(10, 100, 100),
    "s3": JoinedStream(1, 100, 65),
    "s4": JoinedStream(1, 100, 20),
}
MORE = 100
"""How many times the rates and values of two tables are also measured: a key meets as many tuples as before, and
a span has so many that their cost outweighs that of calls."""
LONGER_5_3 = {name: replace(stream, seconds=2 * stream.seconds) for name, stream in TABLE_5_3.items()}
TABLES = {
    "table 5.3": TABLE_5_3,
    "table 5.3, windows twice as long": LONGER_5_3,
    "table 5.5": TABLE_5_5,
    "table 5.6": TABLE_5_6,
}
ORDERS = (
    ("s2", "s1", "s3", "s4"),
    ("s1", "s2", "s3", "s4"),
    ("s2", "s3", "s1", "s4"),
    ("s2", "s3", "s4", "s1"),
)
"""The best order of table 5.5, the fast stream first, it in the middle, and by selectivity alone."""
TURNS = 3
"""How often each plan is run."""
LAZY = 10.0
"""Time units between two evaluations, in figure 5.2."""


@dataclass(frozen=True)
class Algorithm:
    """A way to evaluate the join: at every tuple, every few time units, or with SLIDE, with or without RESTORE."""

    name: str
    slide: float | None = None
    restores: bool = False
    every: float | None = None
    """Time units of a span; None: each tuple alone."""
    buckets: int = 1


def algorithms(delta: float, buckets: int) -> list[Algorithm]:
    """The four algorithms of the thesis."""
    hashed = "" if buckets == 1 else f", {buckets} buckets"
    return [
        Algorithm(f"eager{hashed}", buckets=buckets),
        Algorithm(f"eager, expiry by span{hashed}", every=delta, buckets=buckets),
        Algorithm(f"lazy{hashed}", slide=delta, every=delta, buckets=buckets),
        Algorithm(f"lazyR{hashed}", slide=delta, restores=True, every=delta, buckets=buckets),
    ]


def pipeline(streams: Streams, order: Sequence[str], algorithm: Algorithm) -> Node:
    """The join in a global order, by buckets."""
    inputs = tuple(
        _bucketed(_window(name, streams[name], algorithm.slide), name, algorithm.buckets) for name in order
    )
    first = Column(BIGINT, f"{order[0]}.k")
    equal = tuple(_equal(first, Column(BIGINT, f"{name}.k")) for name in order[1:])
    join = MultiJoin(inputs, tuple((f"{name}.bucket",) for name in order), conjunction(equal))
    return Istream(join, restore=True) if algorithm.restores else join


def _window(name: str, stream: JoinedStream, slide: float | None = None) -> Node:
    columns = Schema.of([(f"{name}.k", BIGINT), (f"{name}.x", BIGINT)])
    spec = RangeWindow(round(stream.seconds * UNIT), None if slide is None else round(slide * UNIT))
    return Window(StreamScan(name, name, columns), spec)


def _bucketed(node: Node, name: str, buckets: int) -> Node:
    kept = tuple((f.name, Column(f.type, f.name)) for f in node.schema)
    bucket = Call(BIGINT, "modulo", (Column(BIGINT, f"{name}.k"), Literal(BIGINT, buckets)))
    return Project(node, (*kept, (f"{name}.bucket", bucket)))


def _equal(one: Expression, other: Expression) -> Expression:
    return Call(BOOLEAN, "eq", (one, other))


def written(streams: Streams) -> Node:
    """The join as a text has it: a tree, with each equality between two that follow each other."""
    names = list(streams)
    equal = [_equal(Column(BIGINT, f"{a}.k"), Column(BIGINT, f"{b}.k")) for a, b in pairwise(names)]
    return joined([_window(name, stream) for name, stream in streams.items()], equal)


def generated(streams: Streams, units: float, seed: int = 2006) -> dict[str, pa.Table]:
    """The tuples of some time units, in the order of time."""
    random = np.random.default_rng(seed)
    rates = np.array([stream.rate for stream in streams.values()])
    steps = round(units * rates.sum())
    ts = 1 + (np.arange(steps) * (UNIT / rates.sum())).astype(np.int64)
    chosen = random.choice(len(rates), steps, p=rates / rates.sum())
    tables = {}
    for number, (name, stream) in enumerate(streams.items()):
        mine = ts[chosen == number]
        keys = random.integers(1, stream.values + 1, len(mine))
        tables[name] = pa.table({"k": keys, "x": np.arange(len(mine)), TS: mine})
    return tables


def spans(
    came: Mapping[str, pa.Table], until: int, every: float | None
) -> Iterator[tuple[dict[str, pa.Table], int]]:
    """The tuples after `until` in spans, each with the clock that ends it; all before them as the first span."""
    instants = np.unique(np.concatenate([table[TS].to_numpy() for table in came.values()]))
    last = int(instants[-1])
    step = round((every or 0) * UNIT)
    clocks = (
        [int(at) for at in instants if at > until]
        if every is None
        else list(range(until + step, last + step, step))
    )
    before = 0
    for clock in [until, *clocks]:
        yield {name: _between(table, before, clock) for name, table in came.items()}, clock
        before = clock


def _between(table: pa.Table, before: int, clock: int) -> pa.Table:
    begin, end = np.searchsorted(table[TS].to_numpy(), [before, clock], side="right")
    return table.slice(begin, end - begin)


@dataclass(frozen=True)
class Run:
    """What a plan did after its windows were full."""

    milliseconds: float
    """Per 1,000 tuples."""
    results: int
    state: float
    """Rows in all buffers, on average over the spans."""
    visits: float


def run(plan: Node, came: Mapping[str, pa.Table], filling: float, every: float | None) -> Run:
    """A plan over tuples, of which those of the first time units fill the windows."""
    flow = lower(plan)
    since, seconds, tuples, results, visits = BEGINNING, 0.0, 0, 0, 0.0
    held: list[int] = []
    gc.disable()
    for number, (span, clock) in enumerate(spans(came, round(filling * UNIT), every)):
        before = _visits(flow)
        began = time.process_time()
        delta = flow.process({name: span[name] for name in flow.inputs}, since, clock)
        if number:
            seconds += time.process_time() - began
            tuples += sum(table.num_rows for table in span.values())
            results += delta.rows
            visits += _visits(flow) - before
            held.append(sum(buffer.rows for buffer in flow.buffers.values()))
        since = clock
    gc.enable()
    each = max(tuples, 1)
    return Run(1e6 * seconds / each, results, float(np.mean(held)), visits / each)


def _visits(flow: Dataflow) -> float:
    return sum(operator.noted.get("visits", 0.0) for operator in flow.operators)


def figure_5_2(units: float) -> Iterator[dict[str, Any]]:
    """Every order by every algorithm."""
    came = generated(TABLE_5_5, 100 + units)
    for order in ORDERS:
        predicted = nested_loop_cost([TABLE_5_5[name] for name in order])
        yield {"figure": "5.2", "order": " ".join(order), "algorithm": "predicted", "ms": predicted}
        for buckets in (1, 10):
            for algorithm in algorithms(LAZY, buckets):
                yield _measured("5.2", order, algorithm, came, units)


def figures_5_3_and_5_4(units: float) -> Iterator[dict[str, Any]]:
    """The best order by slide, for nested loops and for two and five buckets; eager evaluation also at Δ = 0, with
    each tuple alone."""
    came = generated(TABLE_5_5, 100 + units)
    for buckets in (1, 2, 5):
        figure = "5.3" if buckets == 1 else "5.4"
        alone, by_span, *_ = algorithms(LAZY, buckets)
        yield {**_measured(figure, ORDERS[0], alone, came, units), "algorithm": by_span.name, "delta": 0.0}
        for delta in (2.5, 5.0, 10.0, 20.0):
            for algorithm in algorithms(delta, buckets)[1:]:
                yield {**_measured(figure, ORDERS[0], algorithm, came, max(units, delta)), "delta": delta}


def _measured(
    figure: str, order: Sequence[str], algorithm: Algorithm, came: Mapping[str, pa.Table], units: float
) -> dict[str, Any]:
    until = round((100 + (min(units, 1.0) if algorithm.every is None else units)) * UNIT)
    some = {name: _between(table, 0, until) for name, table in came.items()}
    done = run(pipeline(TABLE_5_5, order, algorithm), some, 100, algorithm.every)
    row = {"figure": figure, "order": " ".join(order), "algorithm": algorithm.name}
    return {
        **row,
        "ms": round(done.milliseconds, 2),
        "results": done.results,
        "visits": round(done.visits, 1),
    }


def statistics(streams: Streams) -> Statistics:
    """What epochs would have measured of the streams."""
    facts = {FactName("rate", name): Fact(stream.rate, 1) for name, stream in streams.items()}
    facts |= {FactName("distinct", f"{name}.k"): Fact(stream.values, 1) for name, stream in streams.items()}
    return Statistics(facts)


def plans(units: float) -> Iterator[dict[str, Any]]:
    """A pipeline, the best trees, and which of them is chosen. Plans take turns; the least time of each counts."""
    more = {f"{table}, {MORE}×": times(MORE, TABLES[table]) for table in ("table 5.3", "table 5.6")}
    for table, streams in (TABLES | more).items():
        known = statistics(streams)
        longest = max(stream.seconds for stream in streams.values())
        came = generated(streams, longest + (units / 10 if table in more else units))
        plan = written(streams)
        chosen = choose_plan(plan, known, Planning()).plan
        found = candidates(plan, Estimates(known), Planning()).plans
        turns = [[run(one.plan, came, longest, 1.0) for one in found] for _ in range(TURNS)]
        for one, runs in zip(found, zip(*turns, strict=True), strict=True):
            done = min(runs, key=lambda each: each.milliseconds)
            yield {
                "part": "plans",
                "streams": table,
                "plan": shape(one.plan),
                "pipelined": any(isinstance(node, MultiJoin) for node in walk(one.plan)),
                "ms": round(done.milliseconds, 2),
                "state": round(done.state),
                "expected": round(expected_state(one.plan, streams)),
                "results": done.results,
                "chosen": one.plan == chosen,
            }


def times(factor: int, streams: Streams) -> dict[str, JoinedStream]:
    """The streams with so many times the tuples, and the values."""
    return {
        name: replace(stream, rate=factor * stream.rate, values=factor * stream.values)
        for name, stream in streams.items()
    }


def joined_rows(streams: Sequence[JoinedStream]) -> float:
    """How many results the join of full windows has (φ, table 5.4): every key that all streams have meets as many
    tuples as each of their windows holds of it."""
    keys = min(stream.values for stream in streams)
    return keys * prod(stream.rate * stream.seconds / stream.values for stream in streams)


def expected_state(plan: Node, streams: Streams) -> float:
    """The rows that a plan keeps: all windows, and the results of the joins below others."""
    names = [node.stream for node in walk(plan) if isinstance(node, StreamScan)]
    windows = sum(streams[name].rate * streams[name].seconds for name in names)
    below = [
        child
        for node in walk(plan)
        for child in node.children
        if any(isinstance(one, Join) for one in walk(child)) and isinstance(node, Join)
    ]
    return windows + sum(
        joined_rows([streams[one.stream] for one in walk(child) if isinstance(one, StreamScan)])
        for child in below
    )


def lost(units: float) -> Iterator[dict[str, Any]]:
    """How many results of two and of four windows come and go between slides."""
    for table, streams in (("two of table 5.6", dict(list(TABLE_5_6.items())[:2])), ("table 5.6", TABLE_5_6)):
        came = generated(streams, 100 + units)
        for slide in (2.0, 5.0, 10.0, 20.0):
            all_of, seen = (
                run(
                    pipeline(streams, list(streams), Algorithm("", slide, restores, slide, 1009)),
                    came,
                    100,
                    slide,
                ).results
                for restores in (True, False)
            )
            share = round(1 - seen / all_of if all_of else 0.0, 3)
            yield {
                "part": "lost",
                "streams": table,
                "slide": slide,
                "lost": share,
                "slide/range": slide / 100,
            }


def bands(units: float) -> Iterator[dict[str, Any]]:
    """`b.x BETWEEN a.x AND a.x + width` over two windows of some thousands of rows, and as a product."""
    columns = [Column(BIGINT, "a.x"), Column(BIGINT, "b.x")]
    for rows in (1_000, 4_000):
        random = np.random.default_rng(rows)
        ts = 1 + np.arange(int(2 * UNIT + units * UNIT / 10), step=2 * UNIT // rows)
        came = {name: pa.table({"x": random.integers(0, 1_000_000, len(ts)), TS: ts}) for name in "ab"}
        windows = [
            Window(StreamScan(n, n, Schema.of([(f"{n}.x", BIGINT)])), RangeWindow(2 * UNIT)) for n in "ab"
        ]
        high = Call(BOOLEAN, "le", (columns[1], Call(BIGINT, "add", (columns[0], Literal(BIGINT, 1000)))))
        band = conjunction((Call(BOOLEAN, "ge", (columns[1], columns[0])), high))
        # What is below NOT is no band, and says the same.
        product = conjunction(
            tuple(Call(BOOLEAN, "not", (Call(BOOLEAN, "not", (c,)),)) for c in conjuncts(band))
        )
        for name, residual in (("band", band), ("product", product)):
            done = run(Join(*windows, (), (), residual), came, 2.0, 0.1)
            row = {"part": "bands", "rows": rows, "way": name, "ms": round(done.milliseconds, 2)}
            yield {**row, "results": done.results, "pairs per tuple": round(done.visits, 1)}


def charts(rows: Sequence[Mapping[str, Any]]) -> None:
    """Figures 5.2 to 5.4 of those rows."""
    orders = [" ".join(order) for order in ORDERS]
    of_orders = [row for row in rows if row.get("figure") == "5.2"]
    best = {row["algorithm"]: row["ms"] for row in of_orders if row["order"] == orders[0]}
    relative: dict[str, list[tuple[float, float]]] = {}
    for row in of_orders:
        cost = row["ms"] / (best[row["algorithm"]] or 1)
        relative.setdefault(row["algorithm"], []).append((1 + orders.index(row["order"]), cost))
    panels = [Panel("5.2: time by order", relative, "order", "times the best", is_log_x=False)]
    for figure, title in (("5.3", "5.3: nested loops"), ("5.4", "5.4: hash buckets")):
        by_name: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            if row.get("figure") == figure:
                by_name.setdefault(row["algorithm"], []).append((row["delta"], row["ms"]))
        panels.append(Panel(title, by_name, "Δ (time units)", "ms per 1,000 tuples", is_log_x=False))
    lines("joins", panels)


PARTS: dict[str, Callable[[float], Iterator[dict[str, Any]]]] = {
    "figure_5_2": figure_5_2,
    "figures_5_3_and_5_4": figures_5_3_and_5_4,
    "plans": plans,
    "lost": lost,
    "bands": bands,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all when none is named")
    parser.add_argument("--units", type=float, default=40.0, help="time units that are measured")
    parser.add_argument(
        "--save", action="store_true", help="keep the figures, and draw the charts; other parts stay"
    )
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    rows = []
    for name in arguments.parts or PARTS:
        for row in PARTS[name](arguments.units):
            print(row, flush=True)
            rows.append(row)
    if arguments.save:
        measured = {_part(row) for row in rows}
        before = (load("joins") or {"results": []})["results"]
        rows = [row for row in before if _part(row) not in measured] + rows
        save("joins", rows, units=arguments.units)
        charts(rows)


def _part(row: Mapping[str, Any]) -> str:
    part: str = row.get("part") or row["figure"]
    return part


if __name__ == "__main__":
    main()
