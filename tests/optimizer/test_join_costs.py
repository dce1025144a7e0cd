"""What trees of joins cost, by numbers."""

from __future__ import annotations

import pytest

from panes.optimizer.estimates import Estimate
from panes.optimizer.join_costs import JoinCosts
from panes.optimizer.joined_column import JoinedColumn
from panes.optimizer.joined_rows import JoinedCondition, JoinedRows
from panes.optimizer.statistics import Fact, FactName, Statistics

VISITS = JoinCosts(arrival=1, pair=0, shuffle=0)
"""Every row that comes to a join costs the same, and nothing else costs anything: the model of the paper."""
EXAMPLE_1 = JoinedRows(
    [Estimate(10, 10), Estimate(70, 10), Estimate(20, 10)],
    conditions=[JoinedCondition(0b011, 0.5), JoinedCondition(0b110, 0.2)],
)
"""λ = 10, 70, 20, windows of ten rows, f = .5 for A ⋈ B and .2 for B ⋈ C."""


@pytest.mark.parametrize(
    ("order", "visits", "at_half_ms", "at_3_ms"),
    [((0, 1, 2), 500, 0.25, 1.5), ((1, 2, 0), 280, 0.14, 0.84), ((0, 2, 1), 400, 0.2, 1.2)],
)
def test_example_1_of_the_paper(order, visits: float, at_half_ms: float, at_3_ms: float):
    assert VISITS.of_order(EXAMPLE_1, order) == pytest.approx(visits)
    assert EXAMPLE_1.estimate(EXAMPLE_1.all).rate == pytest.approx(1000)
    for milliseconds, utilization in ((0.5, at_half_ms), (3, at_3_ms)):
        costs = JoinCosts(arrival=1000 * milliseconds, pair=0, shuffle=0)
        assert costs.of_order(EXAMPLE_1, order) / 1e6 == pytest.approx(utilization)


def test_costs_are_those_of_the_statistics():
    parts = {"Join probe": 1, "Join insert": 2, "Join expire": 4, "Join visit": 8, "shuffle row": 16}
    statistics = Statistics({FactName("cost", name): Fact(value, 1) for name, value in parts.items()})
    assert JoinCosts.of(statistics) == JoinCosts(arrival=7, pair=8, shuffle=16)


def chain(*columns: dict[int, float]) -> JoinedRows:
    return JoinedRows([Estimate(10, 100)] * 4, [JoinedColumn(values) for values in columns])


SHUFFLES = JoinCosts(arrival=0, pair=0, shuffle=1)


def test_joins_by_one_key_are_not_shuffled():
    rows = chain({0: 10, 1: 10, 2: 10, 3: 10})
    assert SHUFFLES.of_order(rows, (0, 1, 2, 3)) == 0


def test_a_result_is_shuffled_where_the_key_changes():
    rows = chain({0: 100, 1: 100}, {1: 100, 2: 100})
    left = rows.estimate(0b011)
    assert SHUFFLES.of_order(rows, (0, 1, 2)) == pytest.approx(left.rate)
    assert SHUFFLES.of_order(rows, (1, 2, 0)) == pytest.approx(left.rate)


def test_a_result_lies_by_any_part_of_its_keys():
    # The first join has both columns as keys, the second and third one of them.
    rows = chain({0: 10, 1: 10, 2: 10, 3: 10}, {0: 10, 1: 10})
    assert SHUFFLES.of_order(rows, (0, 1, 2, 3)) == 0


def test_a_product_has_no_key_to_lie_by():
    rows = chain({0: 100, 2: 100}, {1: 100, 2: 100})
    assert SHUFFLES.of_order(rows, (0, 1, 2)) == pytest.approx(rows.estimate(0b011).rate)


def test_a_product_can_be_made_to_count_more():
    rows = chain({0: 100, 2: 100}, {1: 100, 2: 100})
    costs = JoinCosts(arrival=1, pair=0, shuffle=0, product=3)
    assert costs.of_join(rows, 0b001, 0b010) == pytest.approx(3 * 20)
    assert costs.of_join(rows, 0b001, 0b100) == pytest.approx(20)
