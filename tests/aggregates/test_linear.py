"""Variances and their like, from sums that never round."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from panes.aggregates.base import Accumulators
from panes.aggregates.linear import Linear
from panes.aggregates.partials import partial_schema
from panes.delta.delta import EXP, TS, Delta
from panes.operators.pre_aggregate import PreAggregate
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import GroupBy, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import DOUBLE

X, Y = Column(DOUBLE, "x"), Column(DOUBLE, "y")


def accumulated(function: str, xs: list[float | None], ys: list[float | None]) -> tuple[Linear, Accumulators]:
    """The accumulators of one group that holds these pairs."""
    by = Y if function in ("covar_pop", "covar_samp", "corr") else None
    aggregate = Aggregate("a", function, X, DOUBLE, by=by)
    node = GroupBy(StreamScan("s", "s", Schema.of([("x", DOUBLE), ("y", DOUBLE)])), (), (aggregate,))
    rows = pa.table({"x": pa.array(xs, pa.float64()), "y": pa.array(ys, pa.float64())})
    for name in (TS, EXP):
        rows = rows.append_column(name, pa.array(np.ones(len(xs), np.int64)))
    partials = PreAggregate(node, combine=True).process([Delta(rows, 1)], 0, 1).table
    assert partials.select(partial_schema(node).names).num_rows == partials.num_rows
    linear = Linear(node.aggregates)
    return linear, {n: a.sum(keepdims=True) for n, a in linear.lift(partials).items()}


def result(function: str, xs: list[float | None], ys: list[float | None] | None = None) -> float | None:
    linear, accumulators = accumulated(function, xs, [0.0] * len(xs) if ys is None else ys)
    (value,) = linear.results(accumulators, 1)["a"].to_pylist()
    assert value is None or isinstance(value, float)
    return value


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e15, -3e15])
@pytest.mark.parametrize("steps", [[0.0, 1.0, 2.0, 5.0], [0.125, 0.5, 0.25, 0.25]])
def test_variance_does_not_cancel(offset: float, steps: list[float]) -> None:
    values = [offset + step for step in steps]
    exact = statistics.variance(map(Fraction, values))
    assert result("var_samp", [*values, None]) == float(exact)
    assert result("stddev_pop", [*values]) == pytest.approx(math.sqrt(exact * 3 / 4), rel=1e-15)


def test_variance_of_values_that_differ_in_the_last_digit_only() -> None:
    values: list[float | None] = [0.1] * 100 + [math.nextafter(0.1, 1)]
    exact = statistics.pvariance([Fraction(v) for v in values if v is not None])
    assert result("var_pop", values) == float(exact)


def test_variance_of_one_value_many_times_is_zero() -> None:
    assert result("var_samp", [0.1] * 1000) == 0.0


def test_what_has_left_leaves_no_trace() -> None:
    both, alone = (accumulated("var_pop", xs, [0.0] * len(xs)) for xs in ([0.1, 0.2, 1e17], [1e17]))
    linear, whole = both
    rest = {n: a - alone[1].get(n, 0) for n, a in whole.items()}
    (value,) = linear.results(rest, 1)["a"].to_pylist()
    assert value == result("var_pop", [0.1, 0.2])


@pytest.mark.parametrize(
    ("function", "xs", "expected"),
    [
        ("var_pop", [], None),
        ("var_pop", [3.0], 0.0),
        ("var_samp", [3.0], None),
        ("stddev_samp", [None, 3.0], None),
        ("var_pop", [1.0, math.inf], math.nan),
        ("var_pop", [1.0, math.nan], math.nan),
        ("stddev_pop", [1e200, -1e200], math.inf),
    ],
)
def test_variance_of_few_and_of_odd_values(
    function: str, xs: list[float | None], expected: float | None
) -> None:
    assert result(function, xs) == pytest.approx(expected, nan_ok=True)


def test_pairs_of_which_one_is_null_do_not_count() -> None:
    xs, ys = [1.0, 2.0, None, 4.0], [2.0, 4.0, 100.0, None]
    assert result("covar_pop", xs, ys) == 0.5
    assert result("covar_samp", xs, ys) == 1.0
    assert result("corr", xs, ys) == 1.0


def test_correlation_with_what_does_not_vary_is_null() -> None:
    assert result("corr", [1.0, 1.0], [1.0, 2.0]) is None
    assert result("corr", [1.0, 2.0], [math.nan, 2.0]) == pytest.approx(math.nan, nan_ok=True)
    assert math.isnan(result("corr", [3.0], [math.nan])), "a value that is not finite comes before that"
    assert result("corr", [1.0, 2.0, 3.0], [-1.0, -2.0, -3.5]) == pytest.approx(-0.9933992677987828)
