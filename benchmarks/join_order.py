"""What the order of a join costs, and the order that is chosen: `python -m benchmarks.join_order`.

Four streams of different rates are joined, two of them by another key than the others. All orders without a
product run over the same tuples, on one core and without Spark; so does the order that costs promise to be the
cheapest, when the query is written in its worst order. The windows are filled first. Times are CPU seconds of the
process.
"""

from __future__ import annotations

import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import gc
import time
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pyarrow as pa

from benchmarks.result_files import save
from panes.delta.delta import BEGINNING, TS
from panes.language import bind, parse
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.optimizer.alternatives.join_orders import join_orders
from panes.optimizer.equality_classes import EqualityClasses
from panes.optimizer.estimates import Estimates
from panes.optimizer.optimizer import optimize
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.join_tree import JoinTree, join_tree_of, joined
from panes.plan.nodes import Join, Node
from panes.plan.walk import walk
from tests.language.corpus import read_catalog

SPANS, FILLING = 20, 10
"""Seconds that are run, and how many of them fill the windows."""


@dataclass(frozen=True)
class Stream:
    """Tuples per second, and how many different values its two columns have."""

    rate: int
    k: int
    j: int


STREAMS = {
    "a": Stream(4_000, 2_000, 100),
    "b": Stream(2_000, 2_000, 100),
    "c": Stream(200, 2_000, 5_000),
    "d": Stream(100, 100, 5_000),
}
CATALOG = read_catalog("".join(f"CREATE STREAM {name} (k BIGINT, j BIGINT, x BIGINT);" for name in STREAMS))
SQL = """
    SELECT a.x, b.x AS y, c.x AS z, d.x AS u
    FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS], c [RANGE 10 SECONDS], d [RANGE 10 SECONDS]
    WHERE a.k = b.k AND b.k = c.k AND c.j = d.j"""


def arrivals(span: int) -> dict[str, pa.Table]:
    """A second of all streams."""
    random = np.random.default_rng(span)
    tables = {}
    for name, stream in STREAMS.items():
        columns = {
            "k": random.integers(0, stream.k, stream.rate),
            "j": random.integers(0, stream.j, stream.rate),
            "x": np.arange(stream.rate),
        }
        ts = span * 1_000_000 + 1 + np.arange(stream.rate) * (1_000_000 // stream.rate)
        tables[name] = pa.table({**columns, TS: ts})
    return tables


def statistics() -> Statistics:
    """What epochs would have measured of the streams."""
    facts: dict[FactName, Fact] = {}
    for name, stream in STREAMS.items():
        facts[FactName("rate", name)] = Fact(stream.rate, 1)
        facts[FactName("distinct", f"{name}.k")] = Fact(stream.k, 1)
        facts[FactName("distinct", f"{name}.j")] = Fact(stream.j, 1)
    return Statistics(facts)


def tree_of(plan: Node) -> JoinTree:
    found = join_tree_of(plan)
    assert found is not None
    return found


def in_order(tree: JoinTree, order: tuple[int, ...]) -> Node:
    leaves = [tree.leaves[number] for number in order]
    return joined(leaves, EqualityClasses.of(tree).conditions(order), tree.columns)


def seconds_of(plan: Node, spans: list[dict[str, pa.Table]]) -> tuple[float, int]:
    """CPU seconds over all spans but the first, and how many results they give."""
    flow: Dataflow = lower(plan)
    since, spent, results = BEGINNING, 0.0, 0
    gc.disable()
    for number, came in enumerate(spans):
        clock = (number + 1) * 1_000_000
        began = time.process_time()
        delta = flow.process(came, since, clock)
        if number >= FILLING:
            spent += time.process_time() - began
            results += delta.rows
        since = clock
    gc.enable()
    return spent, results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="keep the figures under benchmarks/results")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    (query,) = parse(SQL)
    tree = tree_of(optimize(bind(query, CATALOG)))  # type: ignore[arg-type]
    spans = [arrivals(number) for number in range(SPANS)]
    found = {}
    for order in permutations(range(len(STREAMS))):
        plan = in_order(tree, order)
        has_keys = all(node.left_keys for node in walk(plan) if isinstance(node, Join))
        if has_keys and order[0] < order[1]:  # a join treats its sides alike
            seconds, results = seconds_of(plan, spans)
            name = " ".join(list(STREAMS)[number] for number in order)
            found[name] = (seconds, order)
            print(f"{name}  {seconds:7.2f} s  {results:,} results", flush=True)
    worst = max(found, key=lambda name: found[name][0])
    best = min(found, key=lambda name: found[name][0])
    written = in_order(tree, found[worst][1])
    alternatives = join_orders(written, Estimates(statistics()))
    chosen = alternatives[0].plan if alternatives else written
    seconds, results = seconds_of(chosen, spans)
    row = {
        "worst": worst,
        "worst_s": round(found[worst][0], 2),
        "best": best,
        "best_s": round(found[best][0], 2),
        "chosen": alternatives[0].name if alternatives else worst,
        "chosen_s": round(seconds, 2),
        "worst_to_best": round(found[worst][0] / found[best][0], 1),
        "chosen_to_best": round(seconds / found[best][0], 2),
    }
    print(row)
    if arguments.save:
        save("join_order", [row], spans=SPANS - FILLING, results=results)


if __name__ == "__main__":
    main()
