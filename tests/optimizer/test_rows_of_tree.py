"""The numbers of a tree of joins are those of its estimates, for every set of leaves."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from panes.optimizer.equality_classes import EqualityClasses
from panes.optimizer.estimates import Estimates
from panes.optimizer.fact_names import distinct_name, join_name
from panes.optimizer.joined_rows import JoinedRows
from panes.optimizer.optimizer import optimize
from panes.optimizer.rows_of_tree import rows_of_tree
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.expressions import columns_of
from panes.plan.join_tree import JoinTree, join_tree_of, joined
from panes.plan.nodes import Join
from panes.plan.walk import walk
from tests.optimizer.rewriting import bound

FROM = "s [RANGE 90 SECONDS] a, t [RANGE 5 SECONDS] b, s [ROWS 70] c, t [RANGE 1000000 SECONDS] d"
WHERE = [
    "a.k = b.k AND b.k = c.k AND c.k = d.k",
    "a.k = b.k AND b.w = c.w AND c.v = d.v",
    "a.k = b.k AND a.w = b.w AND a.v < b.v AND b.k = c.k AND c.w = d.w AND b.w = c.w",
    "a.k = b.k AND c.w = d.w",
    "a.k = b.k AND b.k = c.k AND c.k = d.k AND a.v < d.v AND b.w = 'a' AND a.w = c.w",
]


def tree_of(where: str) -> JoinTree:
    found = join_tree_of(optimize(bound(f"SELECT a.v FROM {FROM} WHERE {where}")))
    assert found is not None
    return found


def drawn_statistics(random: Random, tree: JoinTree, *, has_joins: bool) -> Statistics:
    """Rates, numbers of values, and with `has_joins` what some joins of two leaves gave."""
    facts = {FactName("rate", name): Fact(10 ** random.uniform(0, 7), 1) for name in "st"}
    for leaf in tree.leaves:
        for name in leaf.schema.names:
            facts[FactName("distinct", distinct_name(leaf, [name]))] = Fact(10 ** random.uniform(0, 3), 1)
    for pair in combinations(tree.leaves, 2) if has_joins else ():
        names = {name for leaf in pair for name in leaf.schema.names}
        between = [c for c in EqualityClasses.of(tree).conditions(range(4)) if columns_of(c) <= names]
        some = random.sample(between, random.randint(0, len(between)))
        for node in walk(joined(pair, some)):
            if isinstance(node, Join):
                facts[FactName("join", join_name(node))] = Fact(10 ** random.uniform(-4, 0), 1)
    return Statistics(facts)


def rows_of(tree: JoinTree, estimates: Estimates) -> JoinedRows:
    return rows_of_tree(tree, EqualityClasses.of(tree), estimates)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("has_joins", [False, True])
def test_every_set_of_leaves_has_the_numbers_of_a_plan_that_joins_it(where: str, has_joins: bool):
    tree, random = tree_of(where), Random(1)
    classes = EqualityClasses.of(tree)
    for _ in range(4):
        estimates = Estimates(drawn_statistics(random, tree, has_joins=has_joins))
        rows = rows_of(tree, estimates)
        for count in (1, 2, 3, 4):
            for order in combinations(range(4), count):
                names = {name for number in order for name in tree.leaves[number].schema.names}
                conditions = [c for c in classes.conditions(order) if columns_of(c) <= names]
                plan = joined([tree.leaves[number] for number in order], conditions)
                found = rows.estimate(sum(1 << number for number in order))
                expected = estimates.of(plan)
                assert (found.rate, found.size, found.early) == pytest.approx(
                    (expected.rate, expected.size, expected.early), rel=1e-6
                )


def test_an_equality_of_an_expression_over_two_leaves_is_a_key_where_both_are_joined():
    tree = tree_of("a.v + b.v = c.v")
    (condition,) = rows_of(tree, Estimates(Statistics())).conditions
    assert condition.relations == 0b111
    assert condition.is_key(0b011, 0b100)
    assert not condition.is_key(0b101, 0b010)


def test_a_condition_that_reads_no_column_joins_nothing():
    tree = tree_of("a.k = b.k AND 1 = 2")
    assert rows_of(tree, Estimates(Statistics())).conditions == []
