"""What costs much is tested on the rows that are left, and what costs little together."""

from __future__ import annotations

from panes.optimizer.alternatives.order_conjuncts import order_conjuncts
from panes.optimizer.conjunct_cost import Conjunct, conjunct_cost, cost_in_order
from panes.optimizer.optimizer import optimize
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.expressions import Column, OwnCall
from panes.plan.nodes import Select
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.walk import walk
from tests.optimizer.rewriting import bound, check_same

FROM = "SELECT k, w FROM s [RANGE 9 SECONDS] WHERE"


def selections(sql, **selectivities):
    """The selections of a query, from the first that is tested to the last."""
    facts = {FactName("selectivity", f"s.{name} = 1"): Fact(f, 3) for name, f in selectivities.items()}
    before = optimize(bound(sql))
    after = order_conjuncts(before, Statistics(facts))
    check_same(before, after, cases=2)
    return [str(node.predicate) for node in walk(after) if isinstance(node, Select)][::-1]


def test_filters_of_static_optimization_figure_1_cost_75_and_125_percent():
    condition = Column(BOOLEAN, "c")
    first, second = Conjunct(condition, 0.0005, 0.25), Conjunct(condition, 0.001, 0.5)
    assert cost_in_order([first, second], 1000) == 0.75
    assert cost_in_order([second, first], 1000) == 1.25
    assert first.rank < second.rank


def test_a_regular_expression_is_tested_on_what_a_comparison_leaves():
    assert selections(f"{FROM} w ~ 'a.*b' AND k = 1") == ["s.k = 1", "regexp_matches(s.w, 'a.*b')"]


def test_comparisons_stay_together_in_their_order():
    assert selections(f"{FROM} v > 5 AND k = 1") == ["(s.v > 5.0) AND (s.k = 1)"]


def test_a_condition_that_nearly_all_rows_pass_gets_no_selection_of_its_own():
    assert selections(f"{FROM} k = 1 AND w ~ 'a.*b'", k=0.95) == ["(s.k = 1) AND regexp_matches(s.w, 'a.*b')"]


def test_of_two_dear_conditions_the_one_that_leaves_fewer_rows_comes_first():
    like, parsed = "s.w LIKE '%a%'", "CAST(s.w AS BIGINT) = 1"
    assert selections(f"{FROM} CAST(w AS BIGINT) = 1 AND w LIKE '%a%'") == [like, parsed]


def test_a_function_of_a_user_that_is_called_row_by_row_costs_most():
    call = OwnCall(BIGINT, "f", (Column(BIGINT, "k"),), "tests.own:f", is_vectorized=False)
    assert conjunct_cost(call) > conjunct_cost(bound(f"{FROM} w ~ 'a'").child.predicate) > 0.1
