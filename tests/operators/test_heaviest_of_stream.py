"""Counters of a stream that only grows: lowered together after each block of values."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import BEGINNING, Delta
from panes.operators.heaviest_of_stream import HeaviestOfStream
from panes.plan import nodes
from panes.plan.expressions import Aggregate, Column
from panes.plan.schema import Schema
from panes.plan.sketch_sizes import counters_for
from panes.plan.types import BIGINT, list_of

SCAN = nodes.StreamScan("s", "s", Schema.of([("s.v", BIGINT)]))
TOP = Aggregate("top", "approx_top_k", Column(BIGINT, "s.v"), list_of(BIGINT), parameters=(1,))
NODE = nodes.GroupBy(SCAN, (), (TOP,))


def left_of(values: np.ndarray, cuts: list[int]) -> tuple[Counter[int], int]:
    """What is left of the counts of values that come one by one, and how many rows there are."""
    operator, left, rows, since = HeaviestOfStream(NODE), Counter[int](), 0, BEGINNING
    ts = np.arange(1, len(values) + 1)
    for clock in [*cuts, len(values)]:
        here = (ts > since) & (ts <= clock)
        ones = np.ones(here.sum(), np.int64)
        columns = {"_value_0": values[here], "_rows": ones, "_ts": ts[here], "_exp": ones * (2**63 - 1)}
        given = operator.process([Delta(pa.table(columns), clock)], since, clock).table
        assert (given.column("_ts").to_numpy() > since).all()
        for value, count in zip(given["_value_0"].to_pylist(), given["_rows"].to_pylist(), strict=True):
            rows += count
            left[value] += count
        since = clock
    del left[None]  # type: ignore[arg-type]
    return +left, rows


_RANDOM = np.random.default_rng(2)
_STREAMS = {
    "a few frequent values": _RANDOM.zipf(1.3, 7_000) % 3_000,
    "hardly frequent values": _RANDOM.zipf(1.05, 7_000) % 3_000,
    "forty values among others": np.where(
        _RANDOM.random(7_000) < 0.9, np.arange(7_000) % 40, np.arange(7_000)
    ),
    "all different": np.arange(7_000),
}


@pytest.mark.parametrize("values", _STREAMS.values(), ids=_STREAMS)
def test_few_counts_are_left_and_none_is_too_low_by_more_than_stated(values: np.ndarray) -> None:
    left, rows = left_of(values, [])
    exact, most = Counter(values.tolist()), counters_for(1)
    assert rows == len(values)
    assert len(left) <= most
    for value, count in exact.items():
        assert count - len(values) / (most + 1) <= left[value] <= count


@pytest.mark.parametrize("cuts", [[1], [999, 1_000, 1_001], list(range(300, 7_000, 300))])
def test_it_does_not_matter_how_values_are_cut_into_spans(cuts: list[int]) -> None:
    values = np.random.default_rng(3).zipf(1.2, 7_000) % 3_000
    assert left_of(values, cuts) == left_of(values, [])


def test_counts_stay_exact_while_values_are_few() -> None:
    values = np.arange(5_000) % counters_for(1)
    assert left_of(values, [17]) == (Counter(values.tolist()), 5_000)
