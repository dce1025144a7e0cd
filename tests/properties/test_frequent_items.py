"""frequent(x, k) over drawn windows: as the slow algorithm says, inside its bounds, however the input is cut."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.plan import nodes
from panes.plan.aggregates import AGGREGATES
from panes.plan.expressions import Aggregate, Call, Column, Literal
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, STRING
from panes.plan.window_of_panes import PANED
from panes.plan.windows import RangeWindow, RowsWindow, UnboundedWindow, WindowSpec
from tests.properties.running import together
from tests.properties.shards import Shards
from tests.reference.frequent_items import FrequentItems

WINDOWS = int(os.environ.get("PANES_COVERAGE_CASES", "160"))
"""How many windows are looked at in all."""

SCAN = nodes.StreamScan("s", "s", Schema.of([("s.k", BIGINT), ("s.v", STRING)]))
V = Column(STRING, "s.v")
SPECS = (RangeWindow(400, 100), RangeWindow(350, 100), RowsWindow(300, 50), RowsWindow(320, 50))
CLOCKS = (100, 230, 300, 400, 480, 500, 700, 900, 1_000, 1_250)
END = 1_000


def call(function: str, *parameters: int) -> Aggregate:
    if function == "array_agg":
        return Aggregate(function, function, V, AGGREGATES[function].signature(STRING).result)
    result = AGGREGATES[function].signature(STRING, parameters).result
    return Aggregate(f"{function}{parameters[0]}", function, V, result, parameters=parameters)


def plan(spec: WindowSpec, keys: tuple[str, ...] = (), *, selected: bool = False) -> nodes.GroupBy:
    """Two sizes of lists at once, beside the exact values."""
    aggregates = [call(name, k) for name in ("frequent", "frequent_threshold") for k in (1, 3)]
    child: nodes.Node = nodes.Window(SCAN, spec)
    if selected:
        child = nodes.Select(child, Call(BOOLEAN, "ne", (V, Literal(STRING, "v2"))))
    return nodes.GroupBy(child, keys, (*aggregates, call("array_agg"), Aggregate("n", "count", None, BIGINT)))


def stream(random: np.random.Generator, rows: int = 1_200) -> pa.Table:
    """Tuples of few values that are frequent and many that are not, with some NULLs."""
    values = [f"v{number}" for number in random.zipf(random.uniform(1.1, 2.5), rows) % 60]
    return pa.table(
        {
            "k": random.integers(0, 3, rows),
            "v": pa.array(values, pa.string(), mask=random.random(rows) < 0.02),
            "_ts": np.sort(random.integers(1, END, rows)),
        }
    )


def spans(tuples: pa.Table, clocks: Sequence[int], late: np.ndarray) -> list[pa.Table]:
    """What comes in each span; `late` tuples one span after their own."""
    number = np.searchsorted(clocks, tuples.column("_ts").to_numpy()) + late
    return [tuples.filter(pa.array(number == n)) for n in range(len(clocks))]


def answers(dataflow: Dataflow | Shards, came: Sequence[pa.Table], clocks: Sequence[int]) -> list[pa.Table]:
    since, deltas, found = BEGINNING, [], []
    for clock, tuples in zip(clocks, came, strict=True):
        delta = dataflow.process({"s": tuples}, since, clock)
        deltas.append(delta if isinstance(delta, pa.Table) else delta.table)
        found.append(contents_at(together(deltas), clock))
        since = clock
    return found


def batches(spec: PANED, came: Sequence[pa.Table], clocks: Sequence[int]) -> dict[int, list[Any]]:
    """The tuples by the instant at which they come into the window, each with its pane and when that leaves."""
    found: dict[int, list[Any]] = defaultdict(list)
    since, numbered = 0, []
    for clock, tuples in zip(clocks, came, strict=True):
        rows = sorted(tuples.to_pylist(), key=lambda row: max(row["_ts"], since + 1))
        for row in rows:
            seen = max(row["_ts"], since + 1)
            if isinstance(spec, RowsWindow):
                numbered.append((seen, row))
                continue
            assert spec.slide_us is not None
            enters, leaves = (
                -(-t // spec.slide_us) * spec.slide_us for t in (seen, row["_ts"] + spec.range_us)
            )
            whole = spec.range_us // spec.slide_us * spec.slide_us
            if enters < leaves:
                found[enters].append(((leaves, leaves - enters > whole), leaves, row))
        since = clock
    if isinstance(spec, RowsWindow):
        assert spec.slide is not None
        for number, (_, row) in enumerate(numbered, start=1):
            comes, leaves = (-(-n // spec.slide) * spec.slide for n in (number, number + spec.rows))
            if comes <= len(numbered):
                gone = numbered[leaves - 1][0] if leaves <= len(numbered) else 10**9
                if numbered[comes - 1][0] < gone:
                    found[numbered[comes - 1][0]].append(((comes, leaves), gone, row))
    return found


def expected(
    spec: PANED,
    k: int,
    came: Sequence[pa.Table],
    clocks: Sequence[int],
    keys: tuple[str, ...],
    selected: bool,
) -> list[dict[Hashable, FrequentItems]]:
    """The algorithm at each clock, for each group."""
    groups: dict[Hashable, FrequentItems] = defaultdict(lambda: FrequentItems(k))
    coming = batches(spec, came, clocks)
    found = []
    for clock in clocks:
        for instant in sorted(instant for instant in coming if instant <= clock):
            panes: dict[Hashable, list[Any]] = defaultdict(list)
            for pane, leaves, row in coming.pop(instant):
                if row["v"] is not None and not (selected and row["v"] == "v2"):
                    panes[row["k"] if keys else None, pane, leaves].append(row["v"])
            for items in groups.values():
                items.move_to(instant)
            for (group, pane, leaves), values in panes.items():
                groups[group].close(pane, leaves, values)
        for items in groups.values():
            items.move_to(clock)
        copies = {g: FrequentItems(k, dict(items.panes)) for g, items in groups.items()}
        found.append({g: _frozen(items) for g, items in copies.items()})
    return found


def _frozen(items: FrequentItems) -> FrequentItems:
    return FrequentItems(
        items.k,
        {name: type(pane)(pane.leaves, dict(pane.listed), pane.bound) for name, pane in items.panes.items()},
    )


def listed(found: list[dict[str, Any]] | None) -> list[tuple[Any, ...]] | None:
    return None if found is None else [tuple(item.values()) for item in found]


@pytest.mark.parametrize("has_late", [False, True], ids=["in time", "late"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_answers_are_those_of_the_algorithm_and_its_bounds_hold(spec: PANED, has_late: bool) -> None:
    for seed in range(max(1, WINDOWS // (len(SPECS) * 2 * len(CLOCKS)))):
        random = np.random.default_rng(seed)
        keys, selected = (("s.k",) if seed % 2 else ()), seed % 3 == 0
        tuples = stream(random)
        came = spans(tuples, CLOCKS, has_late & (random.random(tuples.num_rows) < 0.1))
        found = answers(lower(plan(spec, keys, selected=selected)), came, CLOCKS)
        for k in (1, 3):
            wanted = expected(spec, k, came, CLOCKS, keys, selected)
            for clock, answer, groups in zip(CLOCKS, found, wanted, strict=True):
                for row in answer.to_pylist():
                    items = groups.get(row.get("s.k"), FrequentItems(k))
                    assert row[f"frequent_threshold{k}"] == items.threshold, (clock, row)
                    assert listed(row[f"frequent{k}"]) == items.frequent, (clock, row)
                    for value, count in Counter(row["array_agg"] or ()).items():
                        at_least, at_most = items.bounds(value)
                        assert at_least <= count <= at_most, (clock, value)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_answers_do_not_depend_on_the_cut_into_spans_and_shards(spec: PANED) -> None:
    tuples, cut = stream(np.random.default_rng(11)), plan(spec, ("s.k",))

    def at_the_end(dataflow: Dataflow | Shards, *clocks: int) -> list[dict[str, Any]]:
        came = spans(tuples, clocks, np.zeros(tuples.num_rows, np.int64))
        return sorted(answers(dataflow, came, clocks)[-1].to_pylist(), key=str)

    whole = at_the_end(lower(cut), END)
    assert at_the_end(lower(cut), *range(37, END, 37), END) == whole
    assert at_the_end(lower(cut, strategy="nt"), 333, END) == whole
    assert at_the_end(Shards.of(cut, 3), 120, 410, END) == whole
    assert any(row["frequent3"] for row in whole)


@pytest.mark.parametrize("spec", [SPECS[1], SPECS[3], UnboundedWindow()], ids=str)
def test_a_query_goes_on_from_its_state(spec: WindowSpec) -> None:
    random = np.random.default_rng(5)
    tuples = stream(random)
    cut = plan(spec) if isinstance(spec, PANED) else nodes.GroupBy(SCAN, (), (call("approx_top_k", 2),))
    came = spans(tuples, CLOCKS, random.random(tuples.num_rows) < 0.1)
    whole, dataflow, since = answers(lower(cut), came, CLOCKS), lower(cut), BEGINNING
    deltas = []
    for clock, rows, expected_now in zip(CLOCKS, came, whole, strict=True):
        deltas.append(dataflow.process({"s": rows}, since, clock).table)
        assert contents_at(together(deltas), clock).to_pylist() == expected_now.to_pylist()
        again = lower(cut)
        for name, state in dataflow.buffers.items():
            again.buffers[name].restore(state.chunks)
        dataflow, since = again, clock
