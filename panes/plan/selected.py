"""Selections by several conditions."""

from __future__ import annotations

from collections.abc import Iterable

from panes.plan.expressions import Expression, conjunction
from panes.plan.nodes import Node, Select


def selected(node: Node, conditions: Iterable[Expression]) -> Node:
    """The rows of a node that pass all the conditions; the node itself when there are none."""
    predicate = conjunction(tuple(conditions))
    return node if predicate is None else Select(node, predicate)
