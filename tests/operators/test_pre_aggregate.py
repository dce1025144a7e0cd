"""Partial rows."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from panes.delta.delta import FOREVER, Delta
from panes.operators.pre_aggregate import PreAggregate
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import GroupBy, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, DOUBLE
from panes.plan.windows import RangeWindow

SCAN = StreamScan("s", "s", Schema.of([("s.k", BIGINT), ("s.x", DOUBLE), ("s.n", BIGINT)]))
X = Column(DOUBLE, "s.x")
SUM = Aggregate("t", "sum", X, DOUBLE)
WHOLE_SUM = Aggregate("t", "sum", Column(BIGINT, "s.n"), BIGINT)
LEAST = Aggregate("m", "min", X, DOUBLE)


def partials(
    *aggregates: Aggregate,
    rows: list[tuple[int, float | None, int, int, int]],
    combine: bool,
    weighted: bool = True,
) -> list[tuple]:  # type: ignore[type-arg]
    """Partial rows of (k, x, ts, exp, weight), as tuples in the order of the partial columns, `_ts` and `_exp`; n
    is x as an integer."""
    k, x, ts, exp, weight = zip(*rows, strict=True)
    table = pa.table(
        {
            "s.k": pa.array(k, pa.int64()),
            "s.x": pa.array([None if value is None else float(value) for value in x], pa.float64()),
            "s.n": pa.array([value if isinstance(value, int) else None for value in x], pa.int64()),
            "_ts": pa.array(ts, pa.int64()),
            "_exp": pa.array(exp, pa.int64()),
            "_weight": pa.array(weight, pa.int64()),
        }
    )
    table = table if weighted else table.drop_columns(["_weight"])
    node = GroupBy(Window(SCAN, RangeWindow(9)), ("s.k",), aggregates)
    delta = PreAggregate(node, combine).process([Delta(table, 9)], 0, 9)
    return sorted((tuple(row.values()) for row in delta.table.to_pylist()), key=str)


@pytest.mark.parametrize("combine", [True, False])
def test_rows_that_live_and_die_together_are_added_up_where_that_is_wanted(combine: bool) -> None:
    rows = [(7, 1.0, 1, 5, 1), (7, None, 1, 5, 1), (7, 2.0, 1, 6, 1)]
    found = partials(SUM, rows=rows, combine=combine, weighted=False)
    together = [(7, 1, 1, 2.0, 1, 6), (7, 2, 1, 1.0, 1, 5)]
    apart = [(7, 1, 0, None, 1, 5), (7, 1, 1, 1.0, 1, 5), (7, 1, 1, 2.0, 1, 6)]
    assert found == (together if combine else apart)


def test_retraction_is_a_partial_row_of_negative_counts() -> None:
    rows = [(7, 3.0, 2, FOREVER, -1), (7, 4.0, 2, FOREVER, 2)]
    assert partials(SUM, rows=rows, combine=True) == [
        (7, -1, -1, -3.0, 2, FOREVER),
        (7, 1, 1, 4.0, 2, FOREVER),
        (7, 1, 1, 4.0, 2, FOREVER),
    ]


def test_doubles_that_may_be_taken_back_one_by_one_are_not_added_up() -> None:
    rows = [(7, 1e17, 2, FOREVER, 1), (7, 1.0, 2, FOREVER, 1)]
    assert partials(SUM, rows=rows, combine=True) == [
        (7, 1, 1, 1.0, 2, FOREVER),
        (7, 1, 1, 1e17, 2, FOREVER),
    ]


@pytest.mark.parametrize("weighted", [True, False])
def test_integers_are_added_up_where_their_sum_fits(weighted: bool) -> None:
    small: list[tuple[int, float | None, int, int, int]] = [(7, 2, 2, 9, 1), (7, 3, 2, 9, 1)]
    assert partials(WHOLE_SUM, rows=small, combine=True, weighted=weighted) == [(7, 2, 2, 5, 2, 9)]
    great: list[tuple[int, float | None, int, int, int]] = [(7, 2**62, 2, 9, 1), (7, 2**62, 2, 9, 1)]
    apart = [(7, 1, 1, 2**62, 2, 9)] * 2
    assert partials(WHOLE_SUM, rows=great, combine=True, weighted=weighted) == apart


def test_least_integer_can_be_taken_back() -> None:
    assert partials(WHOLE_SUM, rows=[(7, -(2**63), 2, 9, -1)], combine=True) == [
        (7, -1, -1, -(2**63), 2, 9),
    ]


def test_copies_whose_product_would_not_fit_are_single_rows() -> None:
    assert partials(WHOLE_SUM, rows=[(7, 2**62, 2, 9, 2)], combine=True) == [(7, 1, 1, 2**62, 2, 9)] * 2


def test_infinite_value_that_is_taken_back_is_kept_apart_from_one_that_comes() -> None:
    rows = [(7, math.inf, 2, FOREVER, -1), (7, math.inf, 2, FOREVER, 1)]
    assert partials(SUM, rows=rows, combine=True) == [
        (7, -1, -1, -math.inf, 2, FOREVER),
        (7, 1, 1, math.inf, 2, FOREVER),
    ]


def test_values_that_an_aggregate_has_to_see_stay_apart() -> None:
    rows = [(7, 1.0, 1, 5, 1), (7, 1.0, 1, 5, 1), (7, 2.0, 1, 5, 1)]
    assert partials(LEAST, rows=rows, combine=True) == [(7, 1.0, 2, 1, 5), (7, 2.0, 1, 1, 5)]
