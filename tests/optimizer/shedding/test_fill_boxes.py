from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.paper_joins import example_plans
from panes.optimizer.shedding.fill_boxes import fill_boxes
from panes.optimizer.shedding.posynomial import Posynomial
from tests.optimizer.shedding.grids import most_on_grid

FACTORS = st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("letter", "kept", "rate"),
    [
        ("a", {"A": 1, "B": 60 / 210, "C": 1}, 500),
        ("b", {"A": 1, "B": 190 / 210, "C": 0}, 2200 / 3),
        ("c", {"A": 1, "B": 1, "C": 20 / 220}, 9000 / 11),
    ],
)
def test_the_knapsack_of_example_1_at_5_ms(letter: str, kept: dict[str, float], rate: float):
    plan = example_plans()[letter]
    filled = fill_boxes(plan.output, plan.cost, capacity=200)
    assert filled == pytest.approx(kept)
    assert plan.output.at(filled) == pytest.approx(rate)


@given(FACTORS, st.floats(0.01, 0.99), st.floats(0, 0.5), st.floats(0, 10))
def test_no_point_of_a_grid_gives_more(
    factors: list[tuple[float, float]], part: float, least: float, fixed: float
):
    output = Posynomial.sum(gain * Posynomial.share(box) for box, (gain, _) in enumerate(factors))
    cost = Posynomial.sum(price * Posynomial.share(box) for box, (_, price) in enumerate(factors)) + fixed
    floor = cost.at(dict.fromkeys(cost.boxes, least))
    capacity = floor + part * (cost.at({}) - floor)
    filled = fill_boxes(output, cost, capacity, least)
    assert all(least <= share <= 1 for share in filled.values())
    assert cost.at(filled) == pytest.approx(capacity)
    assert output.at(filled) >= most_on_grid(output, cost, capacity, 20, least) * (1 - 1e-9)


def test_boxes_with_the_same_ratio_are_filled_by_name():
    a, b = Posynomial.share("A"), Posynomial.share("B")
    assert fill_boxes(a + b, b + a, capacity=1) == {"A": 1, "B": 0}


def test_a_box_that_brings_nothing_keeps_nothing():
    a, b = Posynomial.share("A"), Posynomial.share("B")
    assert fill_boxes(a, a + b, capacity=1) == {"A": 1, "B": 0}
