from __future__ import annotations

from itertools import islice

import pytest

from benchmarks.paper_joins import example_plans, random_joins
from panes.optimizer.shedding.choose_sheddable_plan import choose_sheddable_plan
from panes.optimizer.shedding.grow_sheddable_plan import grow_sheddable_plan
from panes.optimizer.shedding.sheddable_plans import sheddable_plans


@pytest.mark.parametrize("is_range", [False, True])
def test_the_best_plan_is_found_when_one_fits(is_range: bool):
    for join in random_joins(2, is_range=is_range):
        plans = sheddable_plans(join)
        capacity = 1.2 * min(plan.cost.at({}) for plan in plans)
        grown, best = grow_sheddable_plan(join, capacity), choose_sheddable_plan(plans, capacity)
        assert grown.worth == pytest.approx(best.worth)
        assert not grown.boxes.is_shedding


@pytest.mark.parametrize("is_range", [False, True])
@pytest.mark.parametrize("milliseconds", [3, 4, 5, 14.286, 50])
def test_the_best_plan_of_example_1_is_found(milliseconds: float, is_range: bool):
    plans = example_plans(is_range)
    grown = grow_sheddable_plan(plans["a"].join, 1000 / milliseconds)
    best = choose_sheddable_plan(plans.values(), 1000 / milliseconds)
    assert grown.rate == pytest.approx(best.rate, rel=1e-3)
    assert grown.boxes.fits


def test_boxes_behind_boxes_multiply_and_fit():
    """Parts of the plan are shed before the whole is: the boxes of the result are those of all rounds together."""
    for join in islice(random_joins(20), 5):
        saturation = min(plan.cost.at({}) for plan in sheddable_plans(join))
        for level in (0.5, 0.1, 0.01):
            grown = grow_sheddable_plan(join, level * saturation)
            assert grown.plan.cost.at(grown.boxes.kept) == pytest.approx(grown.boxes.cost)
            assert grown.boxes.cost == pytest.approx(level * saturation)


def test_random_queries_lose_little_against_all_plans():
    errors = []
    for join in random_joins(20):
        plans = sheddable_plans(join)
        capacity = 0.01 * min(plan.cost.at({}) for plan in plans)
        found, best = grow_sheddable_plan(join, capacity), choose_sheddable_plan(plans, capacity)
        errors.append(1 - found.rate / best.rate)
    assert min(errors) > -1e-9
    assert sum(errors) / 20 < 0.002
