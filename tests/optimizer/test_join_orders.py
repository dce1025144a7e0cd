"""Joins in the order that costs least."""

from __future__ import annotations

from itertools import permutations

import pytest

from panes.optimizer.alternatives.join_orders import join_orders
from panes.optimizer.equality_classes import EqualityClasses
from panes.optimizer.estimates import Estimates
from panes.optimizer.join_costs import JoinCosts
from panes.optimizer.optimizer import optimize
from panes.optimizer.rows_of_tree import rows_of_tree
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.optimizer.what_is_broken import what_is_broken
from panes.plan.join_tree import join_tree_of, joined
from panes.plan.nodes import Join, Node
from panes.plan.walk import walk
from panes.stages.make_plan import make_plan
from tests.optimizer.rewriting import bound, check_same, tree

FAST_AND_SLOW = Statistics({FactName("rate", "s"): Fact(1e8, 1), FactName("rate", "t"): Fact(1e6, 1)})
"""Windows of the tests are microseconds long, so that rates are high: s has a hundred rows in one, t has one."""
WORST = """
    SELECT a.w, b.v AS x, d.v FROM s [RANGE 9 SECONDS] a, s [RANGE 7 SECONDS] b, t [RANGE 7 SECONDS] c,
    t [RANGE 5 SECONDS] d WHERE a.k = b.k AND b.k = c.k AND c.w = d.w"""


def names(plan: Node, statistics: Statistics = FAST_AND_SLOW) -> list[str]:
    return [alternative.name for alternative in join_orders(plan, Estimates(statistics))]


def order_of(plan: Node) -> list[str]:
    """The aliases of the leaves, from the first that is joined to the last."""
    joins = [node for node in walk(plan) if isinstance(node, Join)]
    first, *rest = [joins[-1].left, *(join.right for join in reversed(joins))]
    return [node.schema.names[0].partition(".")[0] for node in (first, *rest)]


def test_a_join_in_its_worst_order_is_offered_in_its_best():
    plan = optimize(bound(WORST))
    best, *others = join_orders(plan, Estimates(FAST_AND_SLOW))
    assert best.name == "((c ⋈ d) ⋈ b) ⋈ a"
    assert order_of(best.plan) == ["c", "d", "b", "a"]
    assert all(what_is_broken(plan, other.plan) is None for other in (best, *others))
    check_same(plan, best.plan)


def test_streams_are_joined_by_a_key_that_no_condition_names():
    plan = optimize(bound(WORST.replace("b.k = c.k", "a.k = c.k")))
    best = join_orders(plan, Estimates(FAST_AND_SLOW))[0]
    assert best.name == "((c ⋈ d) ⋈ b) ⋈ a"
    assert "Join on c.k = b.k" in tree(best.plan)
    check_same(plan, best.plan)


def test_the_order_of_the_plan_is_not_offered_again():
    sql = "SELECT a.w FROM t [RANGE 5 SECONDS] a, t [RANGE 7 SECONDS] b, s [RANGE 9 SECONDS] c WHERE {}"
    plan = optimize(bound(sql.format("a.k = b.k AND b.k = c.k")))
    assert "(a ⋈ b) ⋈ c" not in names(plan)
    assert all(name for name in names(plan))


def test_two_streams_have_no_other_order():
    assert names(optimize(bound("SELECT a.w FROM s [NOW] a, t [NOW] b WHERE a.k = b.k"))) == []


def test_products_are_written_as_such_and_the_best_order_without_is_offered_too():
    # a is tied to both; b and c have a few rows each and are tied to nothing else.
    plan = optimize(
        bound(
            "SELECT b.v FROM s [RANGE 90000 SECONDS] a, t [RANGE 9 SECONDS] b, t [RANGE 1 SECONDS] c "
            "WHERE a.k = b.k AND a.w = c.w"
        )
    )
    assert names(plan) == ["(b × c) ⋈ a", "(a ⋈ c) ⋈ b"]


def test_joins_inside_of_leaves_are_ordered_on_their_own():
    inner = """
        (SELECT a.k, count(*) AS n FROM s [RANGE 9 SECONDS] a, s [RANGE 8 SECONDS] b, t [RANGE 1 SECONDS] c
        WHERE a.k = b.k AND b.k = c.k GROUP BY a.k) g"""
    plan = optimize(
        bound(
            f"SELECT g.n, x.v FROM {inner}, t [RANGE 5 SECONDS] x, s [RANGE 9 SECONDS] y "
            "WHERE g.k = x.k AND x.k = y.k"
        )
    )
    best = join_orders(plan, Estimates(FAST_AND_SLOW))[0]
    assert "⋈ c" in best.name or "(b ⋈ c) ⋈ a" in best.name
    assert what_is_broken(plan, best.plan) is None
    check_same(plan, best.plan)


def test_a_leaf_of_several_streams_is_named_by_them():
    plan = optimize(
        bound(
            "SELECT c.v, e.v AS x FROM t [RANGE 1 SECONDS] c LEFT JOIN t [RANGE 2 SECONDS] e ON c.k = e.k, "
            "s [RANGE 9 SECONDS] a, t [RANGE 1 SECONDS] b WHERE a.k = b.k AND a.k = c.k"
        )
    )
    assert names(plan)[0] == "(a ⋈ b) ⋈ {c, e}"


@pytest.mark.parametrize(
    "where",
    [
        "a.k = b.k AND b.k = c.k AND c.k = d.k",
        "a.k = b.k AND b.k = c.k AND c.w = d.w",
        "a.k = b.k AND a.w = b.w AND b.w = c.w AND c.w = d.w",
        "a.k = b.k AND b.w = c.w AND c.v = d.v",
    ],
)
def test_results_are_shuffled_where_costs_say_so(where: str):
    plan = optimize(
        bound(
            "SELECT a.v FROM s [RANGE 9 SECONDS] a, t [RANGE 5 SECONDS] b, s [RANGE 7 SECONDS] c, "
            f"t [RANGE 6 SECONDS] d WHERE {where}"
        )
    )
    found = join_tree_of(plan)
    assert found is not None
    classes = EqualityClasses.of(found)
    rows = rows_of_tree(found, classes, Estimates(Statistics()))
    for order in permutations(range(4)):
        if not all(rows.keys(*join) for join in rows.joins(order)):
            continue  # a product runs on one shard, with all that is above it
        made = joined([found.leaves[number] for number in order], classes.conditions(order), found.columns)
        stages = make_plan(made).stages
        shuffled = [left for left, right in rows.joins(order) if left & (left - 1) and
                    not rows.has_column_of_all(left | right)]  # fmt: skip
        assert [len(stages) - 1, all(stage.is_sharded for stage in stages)] == [len(shuffled), True]
        cost = JoinCosts(0, 0, 1).of_order(rows, order)
        assert cost == pytest.approx(sum(rows.changes(left) for left in shuffled))
