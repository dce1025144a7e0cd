"""What is equal by the conditions of a join, closed transitively."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from panes.optimizer.equality_classes import EqualityClasses
from panes.optimizer.optimizer import optimize
from panes.plan.expressions import Call, Column
from panes.plan.join_tree import JoinTree, join_tree_of, joined
from panes.plan.nodes import Join, Node
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, list_of
from panes.plan.walk import walk
from tests.optimizer.rewriting import bound, check_same

FOUR = "s [RANGE 9 SECONDS] a, t [RANGE 5 SECONDS] b, s [RANGE 7 SECONDS] c, t [RANGE 6 SECONDS] d"


def tree_of(where: str) -> JoinTree:
    found = join_tree_of(optimize(bound(f"SELECT a.v, b.w, c.k, d.w AS x FROM {FOUR} WHERE {where}")))
    assert found is not None
    return found


def conditions(where: str, order: Sequence[int]) -> list[str]:
    return [str(c) for c in EqualityClasses.of(tree_of(where)).conditions(order)]


def classes(where: str) -> list[list[str]]:
    return [
        [str(member) for _, member in found.members] for found in EqualityClasses.of(tree_of(where)).classes
    ]


def key_counts(plan: Node) -> list[int]:
    return [len(node.left_keys) for node in walk(plan) if isinstance(node, Join)]


def test_what_is_equal_to_the_same_is_equal():
    assert classes("a.k = b.k AND c.k = b.k") == [["a.k", "b.k", "c.k"]]


def test_two_classes_become_one_when_an_equality_ties_them():
    assert classes("a.k = b.k AND c.w = d.w AND c.k = d.k AND b.k = c.k") == [
        ["a.k", "b.k", "c.k", "d.k"],
        ["c.w", "d.w"],
    ]


def test_columns_of_one_relation_are_not_equal_because_others_are():
    assert classes("a.k = b.k AND a.w = c.w") == [["a.k", "b.k"], ["a.w", "c.w"]]


def test_expressions_of_one_leaf_are_members():
    assert classes("a.k + 1 = b.k AND b.k = c.k") == [["a.k + 1", "b.k", "c.k"]]


def test_an_equality_over_several_leaves_is_in_no_class():
    found = EqualityClasses.of(tree_of("a.v + b.v = c.v AND c.k = d.k"))
    assert [str(condition) for condition in found.others] == ["(a.v + b.v) = c.v"]
    assert len(found.classes) == 1


def test_other_conditions_stay():
    found = EqualityClasses.of(tree_of("a.k = b.k AND a.v < c.v AND d.w = 'a' AND b.k IS DISTINCT FROM d.k"))
    assert {str(c) for c in found.others} == {"a.v < c.v", "b.k IS DISTINCT FROM d.k"}


def test_a_column_that_equals_itself_is_not_null_and_stays_tested():
    # The binder pushes it below the joins, so it is put into the tree by hand.
    tree, k = tree_of("a.k = b.k"), Column(BIGINT, "a.k")
    same = Call(BOOLEAN, "eq", (k, k))
    assert same in EqualityClasses.of(replace(tree, conditions=(same,))).conditions((0, 1, 2, 3))


@pytest.mark.parametrize("type_", [list_of(BIGINT), DOUBLE])
def test_lists_and_columns_of_other_types_are_in_no_class(type_):
    tree = tree_of("a.k = b.k")
    other = Column(type_, "b.k")
    one = other if type_.is_nested else Column(BIGINT, "a.k")
    odd = Call(BOOLEAN, "eq", (replace(one, name="a.k"), other))
    found = EqualityClasses.of(replace(tree, conditions=(odd,)))
    assert (found.classes, found.others) == ((), (odd,))


def test_every_later_leaf_is_compared_with_the_first():
    where = "a.k = b.k AND b.k = c.k AND c.k = d.k"
    assert conditions(where, (0, 1, 2, 3)) == ["a.k = b.k", "a.k = c.k", "a.k = d.k"]
    assert conditions(where, (3, 0, 2, 1)) == ["d.k = a.k", "d.k = c.k", "d.k = b.k"]


def test_columns_of_one_leaf_are_compared_on_it():
    tree = tree_of("a.k = b.k")
    extra = Call(BOOLEAN, "eq", (Column(BIGINT, "b.k"), Column(BIGINT, "a.k + 1")))
    names = [*tree.leaves[0].schema.names]
    assert "a.k" in names
    two = replace(tree, conditions=(*tree.conditions, replace(extra, args=(extra.args[0], _doubled("a.k")))))
    found = EqualityClasses.of(two)
    assert [str(c) for c in found.conditions((0, 1, 2, 3))] == ["a.k = (a.k + a.k)", "a.k = b.k"]


def _doubled(name: str) -> Call:
    return Call(BIGINT, "add", (Column(BIGINT, name),) * 2)


@pytest.mark.parametrize(
    ("where", "equalities"),
    [
        ("a.k = b.k AND b.k = c.k AND c.k = a.k AND c.k = d.k AND a.k = d.k", 3),
        ("a.k = b.k AND b.k = c.k AND a.w = b.w AND b.w = c.w AND a.w = c.w AND c.k = d.k", 5),
    ],
)
def test_what_follows_is_not_compared_again_in_any_order(where: str, equalities: int):
    tree = tree_of(where)
    found = EqualityClasses.of(tree)
    for order in permutations(range(4)):
        plan = joined([tree.leaves[place] for place in order], found.conditions(order), tree.columns)
        assert sum(key_counts(plan)) == equalities


def test_joins_that_no_condition_names_have_keys_and_the_same_answer():
    where = "a.k = b.k AND b.k = c.k AND c.w = d.w AND a.v <> d.v"
    tree = tree_of(where)
    plan = bound(f"SELECT a.v, b.w, c.k, d.w AS x FROM {FOUR} WHERE {where}")
    found = EqualityClasses.of(tree)
    order = (0, 2, 3, 1)  # a with c
    other = joined([tree.leaves[place] for place in order], found.conditions(order), tree.columns)
    assert key_counts(other) == [1, 1, 1]
    check_same(plan, other)
