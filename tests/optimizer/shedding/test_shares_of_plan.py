"""What plans cost as a function of what their drop boxes keep, against the cost model itself."""

from __future__ import annotations

import numpy as np
import pytest

from panes.optimizer.cost import plan_cost
from panes.optimizer.estimates import Estimates
from panes.optimizer.shedding.row_costs import RowCosts
from panes.optimizer.shedding.shares_of_plan import shares_of_plan
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.nodes import Drop, Window
from panes.plan.sheddable import with_drop_boxes
from panes.plan.walk import walk
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalPlan
from tests.stages.test_explain import plan_of

RATES = Statistics({FactName("rate", stream): Fact(8000.0, 5) for stream in ("packets", "s1", "s2")})
ROWS = RowCosts(RATES.facts)
QUERIES = {
    "group by": "SELECT src, sum(bytes) AS n FROM packets [RANGE 10 SECONDS] GROUP BY src",
    "join of windows in RANGE": "SELECT a.src FROM packets [RANGE 9 SECONDS] a, s1 [RANGE 9 SECONDS] b "
    "WHERE a.src = b.a",
    "join of windows in ROWS": "SELECT a.src FROM packets [ROWS 500] a, s1 [ROWS 900] b WHERE a.src = b.a",
    "join of a stream with itself": "SELECT a.src FROM packets [RANGE 5 SECONDS] a, packets [ROWS 300] b "
    "WHERE a.src = b.dst",
}


def boxed(sql: str) -> PhysicalPlan:
    return make_plan(with_drop_boxes(plan_of(sql)))


@pytest.mark.parametrize("name", QUERIES)
def test_the_functions_meet_the_cost_model_within_a_few_percent(name: str) -> None:
    plan = boxed(QUERIES[name])
    found = shares_of_plan("q", plan, RATES)
    random = np.random.default_rng(3)
    for _ in range(20):
        shares = {stream: float(0.05 ** random.random()) for stream in sorted(plan.streams)}
        point = {("q", stream): share for stream, share in shares.items()}
        expected = plan_cost(plan, ROWS, Estimates(ROWS, shares)).own
        assert found.cost.at(point) == pytest.approx(expected, rel=0.05, abs=0.005 * found.cost.at({})), (
            shares
        )


def test_windows_in_range_shrink_with_what_is_kept_and_windows_in_rows_do_not() -> None:
    for window, share in (("RANGE 10 SECONDS", 0.25), ("ROWS 500", 1.0)):
        plan = with_drop_boxes(plan_of(f"SELECT src FROM packets [{window}]"))
        (node,) = (node for node in walk(plan) if isinstance(node, Window))
        all_rows, kept = (Estimates(RATES, shares).of(node) for shares in ({}, {"packets": 0.25}))
        assert kept.size == pytest.approx(share * all_rows.size)
        assert kept.rate == pytest.approx(0.25 * all_rows.rate)


def test_a_drop_box_is_passed_by_the_share_that_it_keeps() -> None:
    plan = boxed(QUERIES["group by"])
    cost = plan_cost(plan, RATES, Estimates(RATES, {"packets": 0.25}))
    (box,) = (step for key, step in cost.steps.items() if "drop" in key.step)
    assert (box.rows_in, box.rows_out) == (8000, 2000)
    assert any(isinstance(node, Drop) for node in walk(plan.plan))


def test_the_output_is_what_is_summed_up_and_not_how_many_groups_change() -> None:
    output = shares_of_plan("q", boxed(QUERIES["group by"]), RATES).output
    assert output.at({}) == pytest.approx(8000)
    assert output.is_linear


def test_the_output_of_a_join_of_windows_in_range_is_a_product() -> None:
    output = shares_of_plan("q", boxed(QUERIES["join of windows in RANGE"]), RATES).output
    assert output.is_monomial
    assert output.at({("q", "packets"): 0.5, ("q", "s1"): 0.5}) == pytest.approx(
        0.25 * output.at({}), rel=0.05
    )
