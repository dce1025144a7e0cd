"""The filters of figure 1: half a millisecond and a quarter pass, a millisecond and half pass; 1,000 tuples/s."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.optimizer.shedding.filter_boxes import Filter, chain_cost, cheapest_chain, filter_boxes
from panes.optimizer.shedding.posynomial import Posynomial
from panes.optimizer.shedding.solve_boxes import solve_boxes

FIRST, SECOND = Filter(0.0005, 0.25), Filter(0.001, 0.5)
FILTERS = st.lists(st.builds(Filter, st.floats(1e-4, 1e-2), st.floats(0.01, 1)), min_size=1, max_size=4)


def test_plan_a_of_figure_1_needs_no_box():
    assert chain_cost(1000, [FIRST, SECOND]) == pytest.approx(0.75)
    boxes = filter_boxes("S", 1000, [FIRST, SECOND])
    assert (boxes.kept, boxes.is_shedding) == ({"S": 1.0}, False)


def test_plan_b_of_figure_1_keeps_four_fifths_and_gives_100_per_second():
    boxes = filter_boxes("S", 1000, [SECOND, FIRST])
    assert boxes.kept == pytest.approx({"S": 0.8})
    assert 1000 * 0.25 * 0.5 * boxes.share("S") == pytest.approx(100)


def test_the_cheapest_order_of_figure_1_is_plan_a():
    assert cheapest_chain([SECOND, FIRST]) == (FIRST, SECOND)


@given(FILTERS)
def test_no_order_is_cheaper(filters: list[Filter]):
    least = min(chain_cost(1000, order) for order in permutations(filters))
    assert chain_cost(1000, cheapest_chain(filters)) == pytest.approx(least)


@settings(max_examples=40)
@given(FILTERS, st.floats(0.05, 0.95))
def test_boxes_between_filters_are_of_no_use(filters: list[Filter], part: float):
    """Observation 2: the best boxes before each filter let pass what one box at the source lets pass (eq. 12)."""
    cost, coming, passing = Posynomial(), 1000.0, Posynomial.constant(1)
    for place, step in enumerate(filters):
        passing = passing * Posynomial.share(place)
        cost = cost + coming * step.seconds * passing
        coming *= step.selectivity
    capacity = part * chain_cost(1000, filters)
    best = solve_boxes([(passing, 1.0)], cost, capacity)
    alone = filter_boxes("S", 1000, filters, capacity)
    assert passing.at(best) == pytest.approx(alone.share("S"), rel=1e-6)
