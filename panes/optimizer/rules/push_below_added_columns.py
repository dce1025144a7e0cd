"""Selections go below OVER where they choose whole partitions, and below unnest where they read none of its items:
these rows are then neither kept nor computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.plan.expressions import Expression, columns_of, conjunction, conjuncts, substitute
from panes.plan.nodes import Node, Over, Project, Select, Unnest, with_children


def push_below_added_columns(plan: Node) -> Node:
    """Select(Over(x)) → Over(Select(x)), as far as conditions read partition columns alone; the same for Unnest,
    as far as they do not read the items.

    The rows of a partition agree on its columns, and so do those of one list on all others, so a condition lets
    all of them through or none. A projection between the two stays where it is.
    """
    plan = with_children(plan, *map(push_below_added_columns, plan.children))
    if isinstance(plan, Select) and _leads_to_added(plan.child):
        return _pushed(plan.child, conjuncts(plan.predicate))
    return plan


def _leads_to_added(node: Node) -> bool:
    while isinstance(node, (Select, Project)):
        node = node.child
    return isinstance(node, (Over, Unnest))


def _pushed(node: Node, conditions: Sequence[Expression]) -> Node:
    """The rows of a node that pass all conditions."""
    if not conditions:
        return node
    if isinstance(node, Select) and _leads_to_added(node):
        return _pushed(node.child, [*conjuncts(node.predicate), *conditions])
    if isinstance(node, Project) and _leads_to_added(node):
        columns = dict(node.columns)
        return replace(node, child=_pushed(node.child, [substitute(c, columns) for c in conditions]))
    if not isinstance(node, (Over, Unnest)):
        return _selected(node, conditions)
    decided = node.partition_by if isinstance(node, Over) else node.child.schema.names
    below = [c for c in conditions if columns_of(c) <= set(decided)]
    rest = [c for c in conditions if c not in below]
    return _selected(replace(node, child=_pushed(node.child, below)), rest)


def _selected(node: Node, conditions: Sequence[Expression]) -> Node:
    predicate = conjunction(tuple(conditions))
    return node if predicate is None else Select(node, predicate)
