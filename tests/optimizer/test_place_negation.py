"""Negations above and below joins: both spellings of a query come to the same plans, and all give its answers."""

from __future__ import annotations

import pytest

from panes.optimizer.alternatives import place_negation as module
from panes.optimizer.alternatives.place_negation import negation_placed, place_negation
from panes.optimizer.optimizer import optimize
from panes.optimizer.what_is_broken import what_is_broken
from panes.plan.nodes import AntiJoin
from panes.plan.shape import shape
from panes.plan.walk import walk
from tests.optimizer.rewriting import bound, check_same

ABOVE = """
    SELECT a.v, b.w FROM s [RANGE 9 SECONDS] a, t [RANGE 7 SECONDS] b
    WHERE a.k = b.k AND NOT EXISTS (SELECT 1 FROM t [RANGE 5 SECONDS] c WHERE c.k = a.k)
"""
BELOW = """
    SELECT a.v, b.w
    FROM (SELECT * FROM s [RANGE 9 SECONDS] a
          WHERE NOT EXISTS (SELECT 1 FROM t [RANGE 5 SECONDS] c WHERE c.k = a.k)) a, t [RANGE 7 SECONDS] b
    WHERE a.k = b.k
"""
PLACED = {
    "above": (ABOVE, {"(a ▷ c) ⋈ b"}),
    "below": (BELOW, {"(a ⋈ b) ▷ c"}),
    "NOT IN, and columns that only it reads": (
        """SELECT x.v, t.w FROM (SELECT v, w FROM s [RANGE 9 SECONDS] WHERE k NOT IN (SELECT k FROM t [NOW])) x,
           t [RANGE 7 SECONDS] WHERE x.w = t.w""",
        {"(s ⋈ t) ▷ t"},
    ),
    "a condition besides the keys, and a name that is used twice": (
        """SELECT x.v
           FROM (SELECT s.v, s.k FROM s [RANGE 9 SECONDS]
                 WHERE NOT EXISTS (SELECT 1 FROM t [RANGE 6 SECONDS] x WHERE x.v > s.v AND x.w = s.w)) x,
                t [RANGE 7 SECONDS]
           WHERE x.k = t.k""",
        {"(s ⋈ t) ▷ x"},
    ),
    "by a key that equals its own": (
        """SELECT a.v FROM s [RANGE 9 SECONDS] a JOIN t [RANGE 7 SECONDS] b ON a.k = b.k AND a.w = b.w
           WHERE NOT EXISTS (SELECT 1 FROM s [RANGE 5 SECONDS] c WHERE c.k = a.k AND c.w = b.w)""",
        {"(a ▷ c) ⋈ b"},
    ),
    "of two rows that nothing makes equal": (
        """SELECT a.v FROM s [RANGE 9 SECONDS] a JOIN t [RANGE 7 SECONDS] b ON a.k = b.k
           WHERE NOT EXISTS (SELECT 1 FROM s [RANGE 5 SECONDS] c WHERE c.w = a.w AND c.v = b.v)""",
        set(),
    ),
    "two, each in its place": (
        """SELECT a.v FROM s [RANGE 9 SECONDS] a JOIN t [RANGE 7 SECONDS] b ON a.k = b.k
           WHERE a.w NOT IN (SELECT w FROM t [NOW] c) AND b.v NOT IN (SELECT v FROM s [NOW] d)""",
        {"(a ▷ c) ⋈ (b ▷ d)", "((a ▷ c) ⋈ b) ▷ d", "(a ⋈ (b ▷ d)) ▷ c"},
    ),
    "a semi-join": (
        """SELECT a.v FROM s [RANGE 9 SECONDS] a JOIN t [RANGE 7 SECONDS] b ON a.k = b.k
           WHERE a.w IN (SELECT w FROM t [RANGE 3 SECONDS] c)""",
        {"(a ⋉ c) ⋈ b"},
    ),
    "below a group": (
        """SELECT w, count(*) AS n FROM (SELECT a.w FROM s [RANGE 9 SECONDS] a JOIN t [ROWS 4] b ON a.k = b.k
           WHERE a.v NOT IN (SELECT v FROM t [NOW] c)) GROUP BY w""",
        {"γ((a ▷ c) ⋈ b)"},
    ),
    "beside a table": (
        """SELECT a.v FROM s [RANGE 9 SECONDS] a JOIN r ON a.k = r.k
           WHERE a.w NOT IN (SELECT w FROM t [RANGE 3 SECONDS] c)""",
        {"(a ▷ c) ⋈ r"},
    ),
    "a table that is negated": (
        "SELECT a.v FROM s [RANGE 9 SECONDS] a JOIN t [NOW] b ON a.k = b.k WHERE a.w NOT IN (SELECT w FROM r)",
        set(),
    ),
    "EXCEPT ALL": (
        """SELECT a.k FROM (SELECT k FROM s [RANGE 9 SECONDS] EXCEPT ALL SELECT k FROM t [NOW]) a
           JOIN t [RANGE 7 SECONDS] b ON a.k = b.k""",
        set(),
    ),
}


@pytest.mark.parametrize(("sql", "shapes"), PLACED.values(), ids=PLACED)
def test_each_place_gives_the_answers_of_the_query(sql: str, shapes: set[str]) -> None:
    plan = optimize(bound(sql))
    found = place_negation(plan)
    assert {shape(one.plan) for one in found} == shapes
    for one in found:
        assert what_is_broken(plan, one.plan) is None
        check_same(plan, one.plan)


@pytest.mark.parametrize("up", [True, False])
def test_both_spellings_come_to_one_plan(up: bool) -> None:
    one, other = (negation_placed(optimize(bound(sql)), up=up) for sql in (ABOVE, BELOW))
    assert one == other
    assert shape(one) == ("(a ⋈ b) ▷ c" if up else "(a ▷ c) ⋈ b")


def test_names_say_what_stands_where() -> None:
    names = [one.name for one in place_negation(optimize(bound(PLACED["two, each in its place"][0])))]
    assert names == [
        "negation of c up, negation of d down",
        "negation of c down, negation of d up",
        "negation down",
    ]
    (one,) = place_negation(optimize(bound(ABOVE)))
    assert one.name == "negation down"


def test_a_setting_moves_negations_and_leaves_semi_joins() -> None:
    plan = optimize(bound(PLACED["a semi-join"][0]))
    assert negation_placed(plan, up=False) is plan


def test_a_bug_in_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted: a NOT IN becomes a NOT EXISTS when it is moved, which differs where there are NULLs.
    over = module._Filter.over

    def forgetful(self: module._Filter, left):
        made = over(self, left)
        return AntiJoin(made.left, made.right, made.left_keys, made.right_keys, made.residual)

    monkeypatch.setattr(module._Filter, "over", forgetful)
    plan = optimize(bound(PLACED["two, each in its place"][0]))
    *_, down = place_negation(plan)
    with pytest.raises(AssertionError):
        check_same(plan, down.plan, cases=12)


def test_a_plan_without_joins_has_no_other_place() -> None:
    plan = optimize(bound("SELECT k FROM s [NOW] WHERE k NOT IN (SELECT k FROM t [NOW])"))
    assert place_negation(plan) == ()
    assert [type(node) for node in walk(plan)].count(AntiJoin) == 1
