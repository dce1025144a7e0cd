"""Joins are made in an order in which conditions tie them: a product is made only where a query asks for one.

Which of these orders is the best is decided by cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.plan.expressions import Expression
from panes.plan.join_keys import split_equality
from panes.plan.join_tree import JoinTree, join_tree_of
from panes.plan.nodes import Join, Node, with_children
from panes.plan.walk import walk


def connect_joins(plan: Node) -> Node:
    """The plan with the leaves of trees of joins that have products in their order, except for those that no
    equality ties to what stands before them: they wait for one that does.

        Join on a.k = c.k AND b.v = c.v          Project a.k, a.v, b.k, b.v, c.k, c.v
          Join of all pairs                        Join on c.v = b.v
            Window … Stream a               →        Join on a.k = c.k
            Window … Stream b                          Window … Stream a
          Window … Stream c                            Window … Stream c
                                                     Window … Stream b
    """
    tree = join_tree_of(plan)
    if tree is not None:
        connected = tree.in_order(_connected(tree))
        if _products(connected) < _products(plan):
            leaves = tuple(map(connect_joins, tree.leaves))
            return replace(tree, leaves=leaves).in_order(_connected(tree))
    return with_children(plan, *map(connect_joins, plan.children))


def _products(plan: Node) -> int:
    return sum(isinstance(node, Join) and not node.left_keys for node in walk(plan))


def _connected(tree: JoinTree) -> list[int]:
    """The places of the leaves: next is always the first that an equality ties to those before it."""
    order, waiting = [0], list(range(1, len(tree.leaves)))
    while waiting:
        names = frozenset(name for place in order for name in tree.leaves[place].schema.names)
        tied = (place for place in waiting if _ties(tree.conditions, names, tree.leaves[place]))
        place = next(tied, waiting[0])
        waiting.remove(place)
        order.append(place)
    return order


def _ties(conditions: Sequence[Expression], names: frozenset[str], leaf: Node) -> bool:
    return any(split_equality(condition, names, leaf) for condition in conditions)
