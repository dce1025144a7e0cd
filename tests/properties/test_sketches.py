"""Approximate aggregates over drawn windows: beside the exact ones, inside the error that EXPLAIN states, and the
same however the input is cut into spans and over shards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan import nodes
from panes.plan.expressions import Aggregate, Column
from panes.plan.schema import Schema
from panes.plan.sketch_sizes import COUNT_ERROR, VALUE_ERROR, counters_for
from panes.plan.types import BIGINT, DOUBLE, list_of
from panes.plan.windows import RangeWindow, RowsWindow, UnboundedWindow, WindowSpec
from tests.properties.running import together
from tests.properties.shards import Shards

CASES = int(os.environ.get("PANES_COVERAGE_CASES", "60"))
"""Windows that are drawn in all."""

SCAN = nodes.StreamScan("s", "s", Schema.of([("s.k", BIGINT), ("s.n", BIGINT), ("s.x", DOUBLE)]))
N, X = Column(BIGINT, "s.n"), Column(DOUBLE, "s.x")
AGGREGATES = (
    Aggregate("exact", "count", N, BIGINT, distinct=True),
    Aggregate("about", "approx_count_distinct", N, BIGINT),
    Aggregate("low", "quantile", X, DOUBLE, parameters=(0.05,)),
    Aggregate("about_low", "approx_quantile", X, DOUBLE, parameters=(0.05,)),
    Aggregate("high", "quantile", X, DOUBLE, parameters=(0.99,)),
    Aggregate("about_high", "approx_quantile", X, DOUBLE, parameters=(0.99,)),
)
TOP_K = 5
TOP = Aggregate("top", "approx_top_k", N, list_of(BIGINT), parameters=(TOP_K,))
SPECS = (
    RangeWindow(400, 100),
    RangeWindow(350, 100),
    RangeWindow(300),
    RowsWindow(2_000, 500),
    UnboundedWindow(),
)


def plan(spec: WindowSpec, keys: tuple[str, ...]) -> nodes.GroupBy:
    return nodes.GroupBy(nodes.Window(SCAN, spec), keys, AGGREGATES)


def stream(random: np.random.Generator, rows: int = 6_000, last: int = 1_000) -> pa.Table:
    """Tuples of a skewed value, of one with many different values, and of a number over several decades."""
    domain = int(10 ** random.uniform(0.5, 4.5))
    return pa.table(
        {
            "k": random.integers(0, 3, rows),
            "n": random.integers(0, domain, rows) * 7919 + random.integers(1 << 40),
            "x": random.choice([-1.0, 1.0, 1.0], rows) * random.lognormal(3, 3, rows),
            "_ts": np.sort(random.integers(1, last, rows)),
        }
    )


def answers(dataflow: Dataflow | Shards, tuples: pa.Table, clocks: Sequence[int]) -> list[pa.Table]:
    """The answer at each clock."""
    ts, since, deltas, found = tuples.column("_ts").to_numpy(), BEGINNING, [], []
    for clock in clocks:
        came = {"s": tuples.filter(pa.array((ts > since) & (ts <= clock)))}
        delta = dataflow.process(came, since, clock)
        deltas.append(delta if isinstance(delta, pa.Table) else delta.table)
        found.append(contents_at(together(deltas), clock))
        since = clock
    return found


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=str)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_errors_over_drawn_windows_are_the_stated_ones(spec: WindowSpec) -> None:
    seeds = max(1, CASES // (len(SPECS) * 4))
    errors: list[float] = []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        keys = ("s.k",) if seed % 2 else ()
        clocks = [200, 450, 777, 1_000]
        for answer in answers(lower(plan(spec, keys)), stream(random), clocks):
            for row in answer.to_pylist():
                errors.append(row["about"] / max(row["exact"], 1) - 1)
                for name in ("low", "high"):
                    if row[name] is not None:
                        # Between two neighbors, each of which may be off: the greater one bounds both.
                        assert row[f"about_{name}"] == pytest.approx(row[name], rel=2 * VALUE_ERROR), row
    assert np.abs(errors).max() < 5 * COUNT_ERROR  # one of two million is further off than that
    assert np.sqrt(np.mean(np.square(errors))) < 1.5 * COUNT_ERROR
    assert np.mean(np.abs(errors) <= 2 * COUNT_ERROR) > 0.85  # 95 % of them, but for the few that are drawn


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_answers_do_not_depend_on_the_cut_into_spans_and_shards(spec: WindowSpec) -> None:
    tuples = stream(np.random.default_rng(7), rows=3_000)
    cut = plan(spec, ("s.k",))
    whole = rows_of(answers(lower(cut), tuples, [1_000])[-1])
    assert rows_of(answers(lower(cut), tuples, [*range(50, 1_000, 50), 1_000])[-1]) == whole
    assert rows_of(answers(lower(cut, strategy="nt"), tuples, [300, 1_000])[-1]) == whole
    assert rows_of(answers(Shards.of(cut, 3), tuples, [120, 333, 1_000])[-1]) == whole


@pytest.mark.parametrize("approximate", [AGGREGATES[1], AGGREGATES[5], TOP], ids=str)
def test_a_million_values_take_less_than_a_hundredth_of_the_bytes(approximate: Aggregate) -> None:
    exact = {"approx_count_distinct": AGGREGATES[0], "approx_quantile": AGGREGATES[4]}
    # Each of the values that are all different takes as much as any other, so a tenth of them tells.
    of_all = 10 * _bytes_of(exact.get(approximate.function, replace(TOP, function="top_k")), 100_000)
    assert _bytes_of(approximate, 1_000_000) <= of_all / 100


def _bytes_of(aggregate: Aggregate, count: int) -> int:
    """What the state takes for a window of so many values, all different."""
    random = np.random.default_rng(3)
    tuples = pa.table(
        {
            "k": np.zeros(count, np.int64),
            "n": random.permutation(count),
            "x": random.lognormal(5, 1.5, count),
            "_ts": np.sort(random.integers(1, 1_000, count)),
        }
    )
    dataflow = lower(nodes.GroupBy(nodes.Window(SCAN, RangeWindow(1_000, 1_000)), (), (aggregate,)))
    dataflow.process({"s": tuples}, BEGINNING, 1_000)
    return sum(chunk.table.nbytes for state in dataflow.buffers.values() for chunk in state.chunks)


@pytest.mark.parametrize("spec", [RangeWindow(400, 100), RowsWindow(2_000, 500), UnboundedWindow()], ids=str)
def test_no_count_of_top_values_is_further_off_than_stated(spec: WindowSpec) -> None:
    for seed in range(max(1, CASES // 30)):
        random = np.random.default_rng(seed)
        tuples = stream(random, rows=8_000)
        domain = int(10 ** random.uniform(2.2, 3.5))
        tuples = tuples.set_column(1, "n", pa.array(random.zipf(random.uniform(1.05, 1.6), 8_000) % domain))
        exact = Aggregate("all", "array_agg", N, list_of(BIGINT))
        cut = nodes.GroupBy(nodes.Window(SCAN, spec), ("s.k",) if seed % 2 else (), (TOP, exact))
        if isinstance(spec, UnboundedWindow):
            cut = replace(cut, child=SCAN)
        for answer in answers(lower(cut), tuples, [300, 450, 800, 1_000]):
            for row in answer.to_pylist():
                counts = Counter(row["all"])
                error = len(row["all"]) / counters_for(TOP_K)
                least = min(counts[value] for value in row["top"])
                left_out = max((n for value, n in counts.items() if value not in row["top"]), default=0)
                assert left_out - least <= error, row["top"]
        whole = rows_of(answers(lower(cut), tuples, [1_000])[-1])
        assert rows_of(answers(lower(cut), tuples, [17, 300, 301, 642, 1_000])[-1]) == whole
        assert rows_of(answers(Shards.of(cut, 2), tuples, [500, 1_000])[-1]) == whole
