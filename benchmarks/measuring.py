"""What measuring costs, and what stored plans save: `python -m benchmarks.measuring`.

The queries of the demo run in-process over spans of a small epoch, by the dataflow as it is and by one that
measures nothing, in turns: the figure is the ratio of both. Beside it stand the time that a task takes to make the
operators of all queries from the steps of their plans, the time that planning them takes, which tasks did in every
epoch before plans were data, and the bytes that are shipped to a task.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
import pyarrow as pa

from benchmarks.result_files import save
from panes.cli.demo_queries import QUERIES, STREAMS, TABLES
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT, Delta
from panes.language import bind, parse
from panes.language import statements as st
from panes.operators.dataflow import Dataflow
from panes.operators.input import Entry
from panes.optimizer.optimizer import optimize
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalPlan
from tests.language.corpus import Shelf

ROUNDS, SPANS, ROWS = 7, 20, 1_000


class Unmeasured(Dataflow):
    """The same operators, without a look at what they do."""

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> Delta:
        deltas: list[Delta] = []
        for step, operator in zip(self.fragment.steps, self.operators, strict=True):
            if isinstance(operator, Entry):
                inputs = [operator.taken_in(arrivals.get(operator.name), clock)]
            else:
                inputs = [deltas[number] for number in step.inputs]
            deltas.append(operator.process(inputs, since, clock))
        return self._answer(deltas[-1])


def plans() -> dict[str, PhysicalPlan]:
    """The physical plans of the demo's queries."""
    shelf = Shelf()
    for text in (*STREAMS, *TABLES):
        (statement,) = parse(text.format(rate=ROWS))
        assert isinstance(statement, (st.CreateStream, st.CreateDerivedStream, st.CreateTable))
        shelf.things[statement.name] = statement
    found = {}
    for query in QUERIES:
        (select,) = parse(query.sql)
        assert isinstance(select, st.SelectQuery)
        found[query.name] = make_plan(optimize(bind(select, shelf)))
    return found


def packets(span: int) -> pa.Table:
    """A second of traffic."""
    random = np.random.default_rng(span)
    millis = span * 1_000 + np.arange(ROWS) * 1_000 // ROWS
    return pa.table(
        {
            "ts": millis,
            "link": random.integers(0, 2, ROWS).astype(np.int32),
            "src": random.zipf(1.3, ROWS) % 5_000,
            "dst": random.zipf(1.3, ROWS) % 5_000,
            "proto": random.choice(["http", "ftp", "telnet", "smtp"], ROWS),
            "bytes": random.integers(40, 1_500, ROWS),
            TS: millis * 1_000,
        }
    )


def tariffs(span: int) -> pa.Table:
    """The change of the tables before a second of traffic: rows at first, later another tariff for a link."""
    rows = [(link, 10, 1) for link in range(2)]
    if span:
        old, new = (10, 20) if span % 2 else (20, 10)
        rows = [(0, old, -1), (0, new, 1)]
    links, rates, weights = zip(*rows, strict=True)
    return pa.table(
        {
            "link": pa.array(links, pa.int32()),
            "rate": pa.array(rates, pa.int64()),
            TS: np.full(len(rows), span * 1_000_000 + 1 if span else BEGINNING),
            EXP: np.full(len(rows), FOREVER),
            WEIGHT: np.array(weights, np.int64),
        }
    )


def seconds_of(plan: PhysicalPlan, kind: type[Dataflow], spans: list[pa.Table]) -> float:
    """How long the operators of a plan take over all spans, on one shard."""
    flows = [kind(stage.fragment) for stage in plan.stages if stage.fragment is not None]
    since, spent = BEGINNING, 0.0
    for number, rows in enumerate(spans):
        clock = (number + 1) * 1_000_000
        given: list[pa.Table] = []
        for stage, flow in zip(plan.stages, flows, strict=True):
            below = [
                tariffs(number)
                if source.table is not None
                else rows
                if source.stage is None
                else given[source.stage]
                for source in stage.inputs
            ]
            computed = [
                FragmentRun(table).input(source, since)[0]
                for source, table in zip(stage.inputs, below, strict=True)
            ]
            arrivals = {source.name: table for source, table in zip(stage.inputs, computed, strict=True)}
            began = time.perf_counter()
            given.append(flow.process(arrivals, since, clock).table)
            spent += time.perf_counter() - began
        since = clock
    return spent


def timed(work: Callable[[], object]) -> float:
    """The seconds of the fastest of some runs."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    demo, spans = plans(), [packets(number) for number in range(SPANS)]
    ratios = []
    for _ in range(ROUNDS):
        with_measures = sum(seconds_of(plan, Dataflow, spans) for plan in demo.values())
        without = sum(seconds_of(plan, Unmeasured, spans) for plan in demo.values())
        ratios.append(with_measures / without)
    fragments = [s.fragment for plan in demo.values() for s in plan.stages if s.fragment is not None]
    result = {
        "measured_to_unmeasured": round(median(ratios), 4),
        "make_operators_ms": round(1000 * timed(lambda: [Dataflow(fragment) for fragment in fragments]), 2),
        "plan_ms": round(1000 * timed(lambda: [make_plan(plan.plan) for plan in demo.values()]), 2),
        "shipped_kb": round(len(pickle.dumps(list(demo.values()))) / 1000, 1),
    }
    print(result)
    save("measuring", [result], queries=len(demo), spans=SPANS, rows=ROWS, rounds=ROUNDS)


if __name__ == "__main__":
    main()
