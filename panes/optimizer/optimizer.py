"""The rules that improve a logical plan whatever its streams bring, in the order in which they are tried.

What is better depends on rates and selectivities is chosen by cost (`optimizer/choose_plan.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Set
from dataclasses import dataclass

from panes.clock import Clock, WallClock
from panes.optimizer.rules.connect_joins import connect_joins
from panes.optimizer.rules.find_equal_subplans import find_equal_subplans
from panes.optimizer.rules.keep_needed_columns import keep_needed_columns
from panes.optimizer.rules.merge_or_into_in import merge_or_into_in
from panes.optimizer.rules.merge_projects import merge_projects
from panes.optimizer.rules.push_below_window import push_below_window
from panes.optimizer.rules.push_selections import push_selections
from panes.optimizer.rules.remove_redundant_distinct import remove_redundant_distinct
from panes.optimizer.what_is_broken import what_is_broken
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
        if rule.__name__ in rules_off:
            continue
        begin = clock.elapsed()
        improved, problem = _improved(rule, plan)
        if problem is not None:
            # The plan before the rule is right, so its query can run.
            warnings.warn(
                f"{rule.__name__} is skipped, a bug in Panes: {problem}", RuntimeWarning, stacklevel=2
            )
        elif improved is not plan and improved != plan:
            plan = improved
            applied.append(AppliedRule(rule.__name__, clock.elapsed() - begin))
    return Rewritten(plan, tuple(applied))


def _improved(rule: Rule, plan: Node) -> tuple[Node, str | None]:
    """What a rule makes of a plan, and what is wrong with that."""
    try:
        improved = rule(plan)
    except Exception as error:
        return plan, f"{type(error).__name__}: {error}"
    return improved, None if improved is plan else what_is_broken(plan, improved)
