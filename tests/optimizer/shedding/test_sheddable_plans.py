from __future__ import annotations

import pytest

from benchmarks.paper_joins import example_plans, random_joins
from panes.optimizer.shedding.posynomial import Posynomial
from panes.optimizer.shedding.sheddable_plans import SheddablePlan, sheddable_plans

A, B, C = (Posynomial.share(box) for box in "ABC")


@pytest.mark.parametrize(
    ("letter", "cost"),
    [
        ("a", 60 * A + 420 * B + 20 * C),
        ("b", 10 * A + 210 * B + 60 * C),
        ("c", 110 * A + 70 * B + 220 * C),
    ],
)
def test_visits_of_example_1_with_rows_windows(letter: str, cost: Posynomial):
    assert example_plans()[letter].cost == cost


@pytest.mark.parametrize(
    ("letter", "cost"),
    [
        ("a", 10 * A + 70 * B + 20 * C + 400 * A * B),
        ("b", 10 * A + 70 * B + 20 * C + 180 * B * C),
        ("c", 10 * A + 70 * B + 20 * C + 300 * A * C),
    ],
)
def test_visits_of_example_1_with_range_windows(letter: str, cost: Posynomial):
    found = example_plans(is_range=True)[letter].cost
    assert [powers for powers, _ in found.terms] == [powers for powers, _ in cost.terms]
    assert [factor for _, factor in found.terms] == pytest.approx([factor for _, factor in cost.terms])


@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_windows_of_the_same_size_cost_the_same_until_something_is_dropped(letter: str):
    costs = [example_plans(is_range)[letter].cost.at({}) for is_range in (False, True)]
    assert costs == pytest.approx([{"a": 500, "b": 280, "c": 400}[letter]] * 2)


def test_the_example_has_three_plans_one_of_them_with_a_product():
    plans = sheddable_plans(example_plans()["a"].join)
    assert [str(plan) for plan in plans] == ["A ⋈ B ⋈ C", "A ⋈ C ⋈ B", "B ⋈ C ⋈ A"]
    assert [plan.has_product for plan in plans] == [False, True, False]


def test_a_join_of_five_streams_has_60_plans():
    (join,) = random_joins(1)
    orders = {plan.order for plan in sheddable_plans(join)}
    assert len(orders) == 60
    assert len({frozenset(order[:2]) | {order[2:]} for order in orders}) == 60
    joined_only = sheddable_plans(join, products=False)
    assert {plan.order for plan in joined_only} < orders
    assert not any(plan.has_product for plan in joined_only)


def test_one_stream_is_a_plan():
    join = example_plans()["a"].join
    assert SheddablePlan(join, ("B",)).cost == 70 * B
