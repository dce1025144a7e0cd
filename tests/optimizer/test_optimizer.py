"""Rules have switches and times, and what they must not do is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from panes.clock import HandClock
from panes.optimizer.optimizer import RULES, AppliedRule, optimize, rewritten
from panes.plan.expressions import Literal
from panes.plan.nodes import Distinct, Node, Select, Window
from panes.plan.types import BOOLEAN
from panes.plan.windows import RangeWindow
from tests.language.binder.test_bind import plan_of

PLAN = plan_of("SELECT src FROM packets [RANGE 5 SECONDS] WHERE bytes > 5")


def test_names_of_rules_are_those_of_their_files():
    for rule in RULES:
        assert rule.__module__ == f"panes.optimizer.rules.{rule.__name__}"


def test_the_rules_that_changed_a_plan_are_told_with_their_times():
    clock = HandClock()

    def change_nothing(plan: Node) -> Node:
        clock.advance(5_000_000)
        return plan

    def select_all(plan: Node) -> Node:
        clock.advance(2_000_000)
        return Select(plan, Literal(BOOLEAN, True))

    found = rewritten(PLAN, clock=clock, rules=(change_nothing, select_all))
    assert found.plan == Select(PLAN, Literal(BOOLEAN, True))
    assert found.applied == (AppliedRule("select_all", 2.0),)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_that_is_off_is_not_applied(rule):
    applied = rewritten(PLAN, {rule.__name__}).applied
    assert rule.__name__ not in [one.name for one in applied]


def test_a_plan_without_rules_stays_as_it_is():
    assert optimize(PLAN, {rule.__name__ for rule in RULES}) is PLAN


def other_columns(plan: Node) -> Node:
    return replace(plan, columns=tuple((f"{name}2", e) for name, e in plan.columns))


def leave_duplicates_out(plan: Node) -> Node:
    return Distinct(plan)


def another_window(plan: Node) -> Node:
    return replace(plan, child=replace(plan.child, child=Window(plan.child.child.child, RangeWindow(1))))


def fails(plan: Node) -> Node:
    raise KeyError(plan.schema.names[0])


BUGS = {
    other_columns: "columns are",
    another_window: r"reads \[RANGE 1 MICROSECOND\] more, and \[RANGE 5 SECONDS\] less",
    leave_duplicates_out: "the answer is WEAK .* and was WEAKEST",
    fails: "KeyError: 'src'",
}


@pytest.mark.parametrize("rule", BUGS, ids=lambda rule: rule.__name__)
def test_a_rule_with_a_bug_is_named_and_skipped(rule):
    with pytest.warns(RuntimeWarning, match=f"{rule.__name__} is skipped, a bug in Panes: .*{BUGS[rule]}"):
        found = rewritten(PLAN, rules=(rule,))
    assert found.plan is PLAN
    assert found.applied == ()
