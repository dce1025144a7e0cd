"""The rules that improve a logical plan, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable

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


def optimize(plan: Node) -> Node:
    """A plan with the same answer and the same columns that costs less."""
    for rule in RULES:
        improved = rule(plan)
        if improved.schema != plan.schema:
            raise AssertionError(f"{rule.__name__} made ({improved.schema}) of ({plan.schema})")
        plan = improved
    return plan
