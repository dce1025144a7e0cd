"""Lookups go below joins, to the tuples whose time they go by."""

from __future__ import annotations

import pytest

from panes.optimizer.alternatives.push_lookups import push_lookups
from panes.optimizer.optimizer import optimize
from panes.optimizer.what_is_broken import what_is_broken
from panes.plan.lookups import is_lookup
from panes.plan.nodes import Join
from panes.plan.walk import walk
from tests.optimizer.rewriting import bound, check_same

A, B = "s [RANGE 29 SECONDS] a", "t [RANGE 19 SECONDS] b"
PUSHED = {
    "by the left": f"SELECT a.k, b.v, n.w FROM {A}, {B} JOIN n ON a.k = n.k WHERE a.w = b.w",
    "by the right": f"SELECT a.k, b.v, n.w FROM {A}, {B} JOIN n ON b.k = n.k AND b.v < n.v WHERE a.w = b.w",
    "IN": f"SELECT a.k, b.v FROM {A}, {B} WHERE a.w = b.w AND a.k IN (SELECT k FROM n)",
    "NOT IN": f"SELECT a.k, b.v FROM {A}, {B} WHERE a.w = b.w AND b.k NOT IN (SELECT k FROM n WHERE v > 0)",
    "LEFT JOIN": f"SELECT a.k, n.w FROM {A} JOIN {B} ON a.w = b.w LEFT JOIN n ON a.k = n.k",
    "two tables": f"SELECT m.v, n.w FROM {A}, {B}, n, n AS m WHERE a.w = b.w AND a.k = n.k AND b.k = m.k",
    "over three": f"SELECT n.w FROM {A}, {B}, s [RANGE 9 SECONDS] c, n "
    "WHERE a.w = b.w AND b.k = c.k AND c.k = n.k",
    "past a table": f"SELECT r.v, n.w FROM {A}, n, r WHERE a.k = n.k AND a.w = r.w",
}


@pytest.mark.parametrize("sql", PUSHED.values(), ids=PUSHED)
def test_answers_are_the_same_below_joins(sql: str) -> None:
    plan = optimize(bound(sql))
    for alternative in push_lookups(plan):
        assert what_is_broken(plan, alternative.plan) is None
        check_same(plan, alternative.plan, cases=3)
        below = [node.left for node in walk(alternative.plan) if is_lookup(node)]
        assert not any(isinstance(node, Join) and node.time is None for left in below for node in walk(left))
        assert push_lookups(alternative.plan) == ()


@pytest.mark.parametrize("name", [name for name in PUSHED if name != "past a table"])
def test_lookups_of_pairs_go_below_the_join(name: str) -> None:
    assert [one.name for one in push_lookups(optimize(bound(PUSHED[name])))] == ["lookups below joins"]


def test_a_lookup_of_a_stream_stays_where_it_is():
    assert push_lookups(optimize(bound("SELECT w FROM looked [RANGE 9 SECONDS]"))) == ()
