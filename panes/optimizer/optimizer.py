"""The rules that improve a logical plan whatever its streams bring, in the order in which they are tried.

What is better depends on rates and selectivities is chosen by cost (`optimizer/choose_plan.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

from panes.clock import Clock, WallClock
from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.checked import checked
from panes.optimizer.rules.connect_joins import connect_joins
from panes.optimizer.rules.find_equal_subplans import find_equal_subplans
from panes.optimizer.rules.keep_needed_columns import keep_needed_columns
from panes.optimizer.rules.merge_or_into_in import merge_or_into_in
from panes.optimizer.rules.merge_projects import merge_projects
from panes.optimizer.rules.push_below_window import push_below_window
from panes.optimizer.rules.push_selections import push_selections
from panes.optimizer.rules.remove_redundant_distinct import remove_redundant_distinct
from panes.plan.nodes import Node

Rule = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    merge_or_into_in,
    remove_redundant_distinct,
    push_selections,
    connect_joins,
    push_below_window,
    find_equal_subplans,
    keep_needed_columns,
    merge_projects,
)


@dataclass(frozen=True)
class AppliedRule:
    """A rule that has changed a plan, and how long that took."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Rewritten:
    """What the rules made of a plan, and those that changed it, in their order."""

    plan: Node
    applied: tuple[AppliedRule, ...] = ()


def optimize(plan: Node, rules_off: Set[str] = frozenset()) -> Node:
    """A plan with the same answer and the same columns that costs less; rules of those names are not applied."""
    return rewritten(plan, rules_off).plan


def rewritten(
    plan: Node, rules_off: Set[str] = frozenset(), clock: Clock | None = None, rules: tuple[Rule, ...] = RULES
) -> Rewritten:
    """The plan that `optimize` gives, with the rules that changed it. `clock` says how long they take."""
    clock = clock or WallClock()
    applied = []
    for rule in rules:
        name = rule.__name__
        if name in rules_off:
            continue
        before = plan
        improved = checked(name, before, lambda: [Alternative(name, rule(before))], clock)  # noqa: B023  called at once
        if improved.plans:
            plan = improved.plans[0].plan
            applied.append(AppliedRule(name, improved.seconds))
    return Rewritten(plan, tuple(applied))
