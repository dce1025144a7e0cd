"""Trees of joins are taken apart, and give the same rows when they are put together in any other order."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from panes.optimizer.rules.push_selections import push_selections
from panes.plan.expressions import Call, Column, Literal
from panes.plan.join_tree import JoinTree, join_tree_of, joined
from panes.plan.nodes import GroupBy, Join, Node, Project, Select, SemiJoin, Window
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.walk import walk
from tests.optimizer.rewriting import bound, check_same
from tests.optimizer.rewriting import tree as text_of
from tests.properties.running import UPA, history, outputs
from tests.properties.streams import Arrivals

THREE = "s [RANGE 9 SECONDS] a, t [RANGE 5 SECONDS] b, s [RANGE 7 SECONDS] c"


def tree_of(sql: str) -> JoinTree:
    """The tree of a query, with its conditions in it."""
    found = join_tree_of(push_selections(bound(sql)))
    assert found is not None
    return found


def conditions(found: JoinTree) -> set[str]:
    return set(map(str, found.conditions))


def keys(plan: Node) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(node.left_keys, node.right_keys) for node in walk(plan) if isinstance(node, Join)]


def test_a_tree_has_its_leaves_conditions_and_columns():
    found = tree_of(f"SELECT c.v, a.w FROM {THREE} WHERE a.k = b.k AND b.v = c.v AND a.v < c.v")
    assert [leaf.schema.names[0] for leaf in found.leaves] == ["a.k", "b.k", "c.k"]
    assert conditions(found) == {"a.k = b.k", "b.v = c.v", "a.v < c.v"}
    assert [(name, str(e)) for name, e in found.columns] == [("v", "c.v"), ("w", "a.w")]


QUERIES = {
    "a chain": f"SELECT a.w, b.v, c.k FROM {THREE} WHERE a.k = b.k AND b.w = c.w AND a.v <> c.v",
    "keys of expressions": f"SELECT a.k + 1 AS x, c.w FROM {THREE} WHERE a.k + 1 = b.k AND b.k + a.k = c.k",
    "a product": f"SELECT a.k, b.w FROM {THREE} WHERE a.k = 1 AND b.w = 'a' AND a.w = c.w",
    "a circle": f"SELECT count(*) AS n FROM {THREE} WHERE a.k = b.k AND b.k = c.k AND a.k = c.k",
    "derived tables of the same names inside": """
        SELECT one.x, two.x AS y, two.w FROM
        (SELECT a.k AS x, b.w FROM s [RANGE 9 SECONDS] a, t [RANGE 5 SECONDS] b WHERE a.w = b.w AND a.v < b.v) one,
        (SELECT a.k AS x, b.w FROM s [ROWS 5] a, t [RANGE 2 SECONDS] b WHERE a.w = b.w) two
        WHERE one.x = two.x""",
    "other leaves": """
        SELECT a.w, g.n, d.k FROM s [RANGE 9 SECONDS] a,
        (SELECT k, count(*) AS n FROM t [RANGE 9 SECONDS] GROUP BY k) g,
        (SELECT DISTINCT k FROM s [RANGE 6 SECONDS] x WHERE EXISTS (SELECT 1 FROM t [ROWS 9] y WHERE y.w = x.w)) d
        WHERE a.k = g.k AND g.k = d.k""",
    "sessions": """
        SELECT a.w, b.v, c.k FROM s [SESSION 3 SECONDS] a, t [RANGE 5 SECONDS SLIDE 2 SECONDS] b,
        s [PARTITION BY w ROWS 2] c WHERE a.k = b.k AND b.w = c.w""",
}


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_every_order_gives_the_same_rows(sql: str) -> None:
    plan = bound(sql)
    top, found = next((node, tree) for node in walk(plan) if (tree := join_tree_of(node)))
    for order in permutations(range(len(found.leaves))):
        check_same(top, found.in_order(order), cases=2)


def test_results_of_internal_windows_come_at_the_same_instants_in_every_order():
    plan = bound(
        """
        SELECT a.w, b.v, c.k FROM s [RANGE 9 SECONDS INTERNAL] a, t [RANGE 5 SECONDS SLIDE 2 SECONDS INTERNAL] b,
        s [RANGE 7 SECONDS INTERNAL] c WHERE a.k = b.k AND b.w = c.w"""
    )
    found = join_tree_of(plan)
    assert found is not None
    arrivals = Arrivals.drawn(Random(1), 40, 3)
    for order in permutations(range(3)):
        one, other = (
            history(list(outputs(UPA.lower(some), arrivals)), arrivals.clocks[-1])
            for some in (plan, found.in_order(order))
        )
        assert one == other


def test_an_expression_that_is_a_key_is_computed_once():
    plan = tree_of(QUERIES["keys of expressions"]).in_order([0, 1, 2])
    assert text_of(plan).count("a.k + 1") == 3  # computed, compared and shown
    assert str(dict(plan.columns)["x"]) == "a.k + 1"
    assert dict(plan.columns)["x"] == Column(BIGINT, "a.k + 1")


def test_what_follows_from_other_equalities_is_not_compared():
    plan = bound(QUERIES["a circle"])
    found = next(tree for node in walk(plan) if (tree := join_tree_of(node)))
    assert conditions(found) == {"a.k = b.k", "b.k = c.k", "a.k = c.k"}
    assert sum(len(left) for left, _ in keys(found.in_order([0, 1, 2]))) == 2


def test_a_join_with_a_table_belongs_to_no_tree():
    for table in ("r", "n"):
        plan = bound(f"SELECT a.w FROM s [NOW] a, t [NOW] b, {table} WHERE a.k = b.k AND {table}.k = a.k")
        assert join_tree_of(plan) is None
        found = next(tree for node in walk(plan) if (tree := join_tree_of(node)))
        assert [type(leaf) for leaf in found.leaves] == [Window, Window]


def test_a_lookup_is_a_leaf():
    found = tree_of(
        "SELECT b.k FROM (SELECT a.k FROM s [NOW] a JOIN n ON a.k = n.k) d, t [NOW] b WHERE d.k = b.k"
    )
    assert [type(leaf) for leaf in found.leaves] == [Project, Window]


def test_semi_joins_and_groups_are_leaves():
    found = join_tree_of(next(n for n in walk(bound(QUERIES["other leaves"])) if isinstance(n, Join)))
    assert found is not None
    kinds = [{type(node) for node in walk(leaf)} for leaf in found.leaves]
    assert [GroupBy in kind for kind in kinds] == [False, True, False]
    assert [SemiJoin in kind for kind in kinds] == [False, False, True]


def over(child: Node, expression) -> Select:
    return Select(child, Call(BOOLEAN, "gt", (expression, Literal(BIGINT, 1))))


def test_a_selection_that_can_fail_stays_above_what_it_stands_on():
    inner = next(
        n
        for n in walk(bound(f"SELECT a.k FROM {THREE} WHERE a.k = b.k AND b.k = c.k"))
        if isinstance(n, Join)
    )
    harmless, fails = Column(BIGINT, "a.k"), Call(BIGINT, "add", (Column(BIGINT, "a.k"),) * 2)
    assert join_tree_of(over(inner, harmless)) is not None
    assert join_tree_of(over(inner, fails)) is None


def test_without_columns_all_are_kept_in_the_order_of_the_leaves():
    found = tree_of(f"SELECT a.w FROM {THREE} WHERE a.k = b.k")
    names = joined([found.leaves[2], found.leaves[0]], ()).schema.names
    assert names == ("c.k", "c.v", "c.w", "a.k", "a.v", "a.w")
