from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.optimizer.shedding.divide_boxes import divide_boxes
from panes.optimizer.shedding.posynomial import Posynomial
from panes.optimizer.shedding.solve_boxes import solve_boxes

QUERIES = st.lists(st.tuples(st.floats(1, 10), st.floats(0.1, 100)), min_size=1, max_size=5)


def cost_of(prices: list[float]) -> Posynomial:
    return Posynomial.sum(price * Posynomial.share(box) for box, price in enumerate(prices))


def test_capacity_is_divided_by_priority():
    cost = cost_of([8, 8, 4])
    kept = divide_boxes({0: 3, 1: 1, 2: 1}, cost, capacity=5)
    assert kept == pytest.approx({0: 3 / 8, 1: 1 / 8, 2: 1 / 4})


def test_what_a_query_cannot_use_goes_to_the_others():
    assert divide_boxes({0: 1, 1: 1}, cost_of([1, 9]), capacity=5) == pytest.approx({0: 1, 1: 4 / 9})


def test_a_box_without_weight_keeps_as_little_as_it_may():
    kept = divide_boxes({0: 1}, cost_of([1, 9]), capacity=1.4, least=0.1)
    assert kept == pytest.approx({0: 0.5, 1: 0.1})


def test_boxes_without_weight_keep_nothing_when_the_others_keep_everything():
    assert divide_boxes({0: 1}, cost_of([1, 9]), capacity=5) == pytest.approx({0: 1, 1: 0})


def test_thousands_of_queries_are_divided():
    kept = divide_boxes(dict.fromkeys(range(5000), 1.0), cost_of([1.0 + box for box in range(5000)]), 1e5)
    assert min(kept.values()) > 0
    assert cost_of([1.0 + box for box in range(5000)]).at(kept) == pytest.approx(1e5)


@settings(max_examples=40)
@given(QUERIES, st.floats(0.01, 0.99))
def test_the_convex_program_gives_the_same(queries: list[tuple[float, float]], part: float):
    cost = cost_of([price for _, price in queries]) + 1
    capacity = 1 + part * (cost.at({}) - 1)
    goals = [(Posynomial.share(box), weight) for box, (weight, _) in enumerate(queries)]
    divided = divide_boxes({box: weight for box, (weight, _) in enumerate(queries)}, cost, capacity)
    assert divided == pytest.approx(solve_boxes(goals, cost, capacity), rel=1e-4)
    assert cost.at(divided) == pytest.approx(capacity)
