"""The rules that improve a logical plan whatever its streams bring, in the order in which they are tried.

What is better depends on rates and selectivities is chosen by cost (`optimizer/choose_plan.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Set

from panes.optimizer.rules.keep_needed_columns import keep_needed_columns
from panes.optimizer.rules.push_below_added_columns import push_below_added_columns
from panes.optimizer.rules.push_below_lookup import push_below_lookup
from panes.optimizer.rules.push_below_window import push_below_window
from panes.plan.nodes import Node

Rule = Callable[[Node], Node]

RULES: tuple[Rule, ...] = (
    push_below_added_columns,
    push_below_lookup,
    push_below_window,
    keep_needed_columns,
)


def optimize(plan: Node, rules_off: Set[str] = frozenset()) -> Node:
    """A plan with the same answer and the same columns that costs less; rules of those names are not applied."""
    for rule in RULES:
        if rule.__name__ not in rules_off:
            plan = applied(rule, plan)
    return plan


def applied(rule: Rule, plan: Node) -> Node:
    """What a rule makes of a plan; it must have the same columns."""
    improved = rule(plan)
    if improved.schema != plan.schema:
        raise AssertionError(f"{rule.__name__} made ({improved.schema}) of ({plan.schema})")
    return improved
