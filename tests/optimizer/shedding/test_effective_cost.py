"""What plans cost once they shed what does not fit, against a grid of shares."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.cost import plan_cost
from panes.optimizer.estimates import Estimates
from panes.optimizer.planning import Planning
from panes.optimizer.shedding.effective_cost import effective_cost
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.sheddable import with_drop_boxes
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalPlan
from tests.optimizer.test_choose_plan import plan_of

JOIN = "SELECT a.v, b.w FROM s [{}] a, t [{}] b WHERE a.k = b.k"
WINDOWS = [("RANGE 1 MINUTE", "RANGE 1 MINUTE"), ("ROWS 9000", "ROWS 200")]


def busy(rate: float) -> Statistics:
    facts = {FactName("rate", name): Fact(rate, 1) for name in ("s", "t")}
    return Statistics(facts | {FactName("distinct", f"{name}.k"): Fact(500.0, 1) for name in ("s", "t")})


def boxed(windows: tuple[str, str]) -> PhysicalPlan:
    return make_plan(with_drop_boxes(plan_of(JOIN.format(*windows))))


@pytest.mark.parametrize("windows", WINDOWS)
def test_a_plan_that_does_not_fit_costs_more_by_what_it_loses(windows: tuple[str, str]) -> None:
    plan, statistics = boxed(windows), busy(20_000.0 if "RANGE" in windows[0] else 100_000.0)
    cost = plan_cost(plan, statistics)
    assert cost.cpu > 1
    best = 0.0
    for left, right in product(np.geomspace(0.02, 1, 25), repeat=2):
        kept = Estimates(statistics, {"s": float(left), "t": float(right)})
        if plan_cost(plan, statistics, kept).cpu <= 1:
            best = max(best, kept.of(plan.plan).rate)
    given = Estimates(statistics).of(plan.plan).rate
    assert effective_cost(plan, cost, statistics, 1) == pytest.approx(given / best, rel=0.15)


def test_a_plan_that_fits_or_has_no_boxes_costs_what_it_costs() -> None:
    few, many = busy(10.0), busy(100_000.0)
    plan = boxed(WINDOWS[0])
    cost = plan_cost(plan, few)
    assert effective_cost(plan, cost, few, 2) == cost.cpu
    exact = make_plan(plan_of(JOIN.format(*WINDOWS[0])))
    cost = plan_cost(exact, many)
    assert effective_cost(exact, cost, many, 2) == cost.cpu
    assert effective_cost(plan, cost, many, None) == cost.cpu, "nobody knows how many cores there are"


THREE = "SELECT a.v FROM s [ROWS {}] a, t [ROWS {}] b, s [ROWS {}] c WHERE a.k = b.k AND b.w = c.w"


def test_a_plan_that_may_shed_is_chosen_by_what_it_keeps_when_none_fits() -> None:
    statistics = busy(300_000.0)
    facts = {**statistics.facts, FactName("distinct", "s.w"): Fact(20.0, 1)}
    facts[FactName("distinct", "t.w")] = Fact(20.0, 1)
    plan = plan_of(THREE.format(50, 40, 60))
    exact, shed = (
        choose_plan(plan, Statistics(facts), Planning(cores=1, sheds=sheds)) for sheds in (False, True)
    )
    for chosen in (exact, shed):
        assert not chosen.choice.candidates[0].verdict.startswith("chosen: the cluster")
    costs = [
        effective_cost(made, plan_cost(made, Statistics(facts)), Statistics(facts), 1)
        for made in (make_plan(with_drop_boxes(exact.plan)), shed)
    ]
    assert costs[1] <= costs[0] * (1 + 1e-6)
