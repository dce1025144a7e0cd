"""Conditions as bands."""

from __future__ import annotations

from math import inf

import pytest

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.plan.band import Band, band_of
from panes.plan.nodes import Join
from panes.plan.walk import walk
from tests.language.corpus import read_catalog

COLUMNS = "(k BIGINT, x DOUBLE, t TIMESTAMP, i INTEGER, d DECIMAL(10, 2), w STRING, y DATE)"
CATALOG = read_catalog(f"CREATE STREAM a {COLUMNS}; CREATE STREAM b {COLUMNS};")


def band(condition: str) -> Band | None:
    sql = f"SELECT a.k FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE {condition}"
    (query,) = parse(sql)
    (join,) = (node for node in walk(optimize(bind(query, CATALOG))) if isinstance(node, Join))
    return band_of(join.residual, frozenset(join.left.schema.names), frozenset(join.right.schema.names))


@pytest.mark.parametrize(
    ("condition", "left", "right", "low", "high"),
    [
        ("a.x < b.x", "a.x", "b.x", 0, inf),
        ("a.x >= b.x", "a.x", "b.x", -inf, 0),
        ("abs(a.x - b.x) <= 5", "a.x", "b.x", -5, 5),
        ("abs(b.k - a.k) < 5", "a.k", "b.k", -5, 5),
        ("b.t BETWEEN a.t AND a.t + INTERVAL 5 SECONDS", "a.t", "b.t", 0, 5_000_000),
        ("b.t - a.t < INTERVAL 5 SECONDS AND b.t > a.t", "a.t", "b.t", 0, 5_000_000),
        ("a.k BETWEEN b.k - 2 AND b.k + 3", "a.k", "b.k", -3, 2),
        ("a.k - b.k <= 3", "a.k", "b.k", -3, inf),
        ("a.k + 1 < b.k + 4 AND a.k > b.k AND a.w < b.w", "a.k", "b.k", -3, 0),
        ("a.w < b.w AND abs(a.d - b.d) <= 0.5", "a.d", "b.d", -0.5, 0.5),
        ("a.w <= b.w", "a.w", "b.w", 0, inf),
        ("a.y < b.y", "a.y", "b.y", 0, inf),
        ("a.i < b.x", "CAST(a.i AS DOUBLE)", "b.x", 0, inf),
    ],
)
def test_comparisons_of_both_sides_are_bands(
    condition: str, left: str, right: str, low: float, high: float
) -> None:
    found = band(condition)
    assert found is not None
    assert (str(found.left), str(found.right), found.low, found.high) == (left, right, low, high)


@pytest.mark.parametrize(
    "condition",
    ["a.x <> b.x", "a.x < b.x OR a.k < b.k", "a.x + b.x < 5", "a.k + a.i < b.k", "a.x * b.x > b.k"],
)
def test_other_conditions_are_not_and_neither_is_what_can_fail(condition: str) -> None:
    assert band(condition) is None
