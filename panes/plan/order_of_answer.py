"""Plans of answers that are read in an order: `OrderBy` at the top says which."""

from __future__ import annotations

from panes.plan.expressions import Column
from panes.plan.nodes import HIDDEN, Node, OrderBy, Project
from panes.plan.sort_key import SortKey


def relation_of(plan: Node) -> Node:
    """The relation that is kept for a plan: its rows in no order, with the columns that they are sorted by."""
    return plan.child if isinstance(plan, OrderBy) else plan


def order_of(plan: Node) -> tuple[SortKey, ...]:
    """The order in which an answer is read; none when it has none."""
    return plan.order if isinstance(plan, OrderBy) else ()


def without_order(plan: Node) -> Node:
    """The plan where nobody sees its order: inside another query."""
    return shown(plan.child) if isinstance(plan, OrderBy) else plan


def shown(node: Node) -> Node:
    """The node without the columns that an answer does not show."""
    columns = tuple((f.name, Column(f.type, f.name)) for f in node.schema if not f.name.startswith(HIDDEN))
    return node if len(columns) == len(node.schema) else Project(node, columns)
