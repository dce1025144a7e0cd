"""DISTINCT below joins, with the outer one left out exactly where no two rows can be equal."""

from __future__ import annotations

import pytest

from panes.optimizer.alternatives import distinct_below_joins as module
from panes.optimizer.alternatives.distinct_below_joins import distinct_below_joins
from panes.optimizer.estimates import Estimates
from panes.optimizer.optimizer import optimize
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.optimizer.what_is_broken import what_is_broken
from panes.plan.nodes import Node
from panes.plan.shape import shape
from tests.optimizer.rewriting import bound, check_same

FROM = "FROM s [RANGE 40 SECONDS] a JOIN t [RANGE 30 SECONDS] b ON a.k = b.k"
PUSHED = {
    "keys of one side": (f"SELECT DISTINCT a.k {FROM}", "δ(a) ⋈ δ(b)"),
    "keys of the other side": (f"SELECT DISTINCT b.k AS key {FROM}", "δ(a) ⋈ δ(b)"),
    "keys and a column more": (f"SELECT DISTINCT a.w, b.k {FROM}", "δ(a) ⋈ δ(b)"),
    "a column, but no key": (f"SELECT DISTINCT a.w {FROM}", "δ(δ(a) ⋈ δ(b))"),
    "a key that is computed with": (f"SELECT DISTINCT a.k + 1 AS n {FROM}", "δ(δ(a) ⋈ δ(b))"),
    "a condition of both sides": (f"SELECT DISTINCT a.k {FROM} AND a.v < b.v", "δ(δ(a) ⋈ δ(b))"),
    "equal floats, which need not be the same": (
        "SELECT DISTINCT a.v FROM s [RANGE 9 SECONDS] a JOIN t [RANGE 7 SECONDS] b ON a.v = b.v",
        "δ(δ(a) ⋈ δ(b))",
    ),
    "below a negation": (
        "SELECT DISTINCT k FROM s [RANGE 9 SECONDS] a WHERE k NOT IN (SELECT k FROM t [RANGE 3 SECONDS] c)",
        "δ(a) ▷ c",
    ),
    "below a semi-join, whose key is not shown": (
        "SELECT DISTINCT w FROM s [RANGE 9 SECONDS] a WHERE k IN (SELECT k FROM t [RANGE 3 SECONDS] c)",
        "δ(δ(a) ⋉ c)",
    ),
    "three": (
        f"SELECT DISTINCT c.k {FROM} JOIN s [ROWS 5] c ON c.k = b.k AND c.w = a.w",
        "δ((δ(a) ⋈ δ(b)) ⋈ δ(c))",
    ),
    "three, all told apart": (
        f"SELECT DISTINCT c.k, c.w {FROM} JOIN s [ROWS 5] c ON c.k = b.k AND c.w = a.w",
        "(δ(a) ⋈ δ(b)) ⋈ δ(c)",
    ),
    "a product": (
        "SELECT DISTINCT a.k, b.w FROM s [RANGE 9 SECONDS] a, t [NOW] b",
        "δ(a) × δ(b)",
    ),
    "a table, which stays": (
        "SELECT DISTINCT a.k, r.w FROM s [RANGE 9 SECONDS] a JOIN r ON a.k = r.k",
        "δ(δ(a) ⋈ r)",
    ),
}
LEFT = {
    "without a join": "SELECT DISTINCT k FROM s [NOW]",
    "above a group": f"SELECT DISTINCT n FROM (SELECT count(*) AS n {FROM} GROUP BY a.w)",
    "where 0.0 and -0.0 would differ": f"SELECT DISTINCT 1 / a.v AS n {FROM}",
}
NOTHING = Estimates(Statistics())


def pushed(plan: Node) -> Node:
    return distinct_below_joins(plan, NOTHING)[0].plan


@pytest.mark.parametrize(("sql", "expected"), PUSHED.values(), ids=PUSHED)
def test_joins_get_each_value_once_and_the_answer_is_the_same(sql: str, expected: str) -> None:
    plan = optimize(bound(sql))
    found = pushed(plan)
    assert shape(found) == expected
    assert what_is_broken(plan, found) is None
    check_same(plan, found)


@pytest.mark.parametrize("sql", LEFT.values(), ids=LEFT)
def test_where_it_would_not_be_the_same_it_stays(sql: str) -> None:
    assert distinct_below_joins(optimize(bound(sql)), NOTHING) == ()


def test_it_may_go_only_where_duplicates_are_expected() -> None:
    facts = {
        FactName("rate", "s"): Fact(1e6, 1),
        FactName("rate", "t"): Fact(1e6, 1),
        FactName("distinct", "s.k"): Fact(2, 1),
        FactName("distinct", "t.k"): Fact(1e13, 1),
    }
    sql = f"SELECT DISTINCT a.k {FROM}".replace(" SECONDS", " MINUTES")
    everywhere, some = distinct_below_joins(optimize(bound(sql)), Estimates(Statistics(facts)))
    assert shape(everywhere.plan) == "δ(a) ⋈ δ(b)"
    assert shape(some.plan) == "δ(δ(a) ⋈ b)"


def test_a_bug_in_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: the outer DISTINCT is always left out.
    monkeypatch.setattr(module, "_closed", lambda *_: frozenset(f"{a}.{c}" for a in "ab" for c in "kvw"))
    plan = optimize(bound(f"SELECT DISTINCT a.w {FROM}"))
    with pytest.raises(AssertionError):
        check_same(plan, pushed(plan))
