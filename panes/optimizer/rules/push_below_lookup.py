"""Selections go below lookups: other tuples are not looked up, and queries that differ in selections can share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.plan.expressions import Expression, columns_of, conjunction, conjuncts, substitute
from panes.plan.lookups import Matching, is_lookup
from panes.plan.nodes import Join, Node, Project, Select, with_children


def push_below_lookup(plan: Node) -> Node:
    """Select(Project(lookup)) → Project(lookup over a Select), as far as one side decides a condition.

    A lookup decides row by row, so a row that is not wanted can go before it.
    """
    plan = with_children(plan, *map(push_below_lookup, plan.children))
    if isinstance(plan, Select) and _leads_to_lookup(plan.child):
        return _pushed(plan.child, conjuncts(plan.predicate))
    return plan


def _leads_to_lookup(node: Node) -> bool:
    while isinstance(node, (Select, Project)):
        node = node.child
    return is_lookup(node)


def _pushed(node: Node, conditions: Sequence[Expression]) -> Node:
    """The rows of a node that pass all conditions."""
    if isinstance(node, Project) and _leads_to_lookup(node):
        columns = dict(node.columns)
        return replace(node, child=_pushed(node.child, [substitute(c, columns) for c in conditions]))
    if isinstance(node, Select) and _leads_to_lookup(node):
        return _pushed(node.child, [*conjuncts(node.predicate), *conditions])
    if is_lookup(node):
        return _below(node, conditions)
    return _selected(node, conditions)


def _below(lookup: Matching, conditions: Sequence[Expression]) -> Node:
    rest = list(conditions)
    left = _taken(rest, lookup.left)
    right = _taken(rest, lookup.right) if isinstance(lookup, Join) else []
    pushed = replace(lookup, left=_pushed(lookup.left, left), right=_selected(lookup.right, right))
    return _selected(pushed, rest)


def _taken(conditions: list[Expression], side: Node) -> list[Expression]:
    """Takes those conditions that read one side alone."""
    mine = [c for c in conditions if all(name in side.schema for name in columns_of(c))]
    for condition in mine:
        conditions.remove(condition)
    return mine


def _selected(node: Node, conditions: Sequence[Expression]) -> Node:
    predicate = conjunction(tuple(conditions))
    return node if predicate is None else Select(node, predicate)
