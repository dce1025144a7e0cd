"""Outer joins by the operators there are: pairs, and rows without a partner filled up with NULL."""

from __future__ import annotations

from panes.plan.expressions import Column, Expression, Literal
from panes.plan.nodes import AntiJoin, Join, Node, OuterJoin, Project, Union
from panes.plan.schema import Schema


def expand_outer_join(node: OuterJoin) -> Node:
    """The union of the pairs with the rows of the left that have no partner; of a FULL JOIN, also those of the
    right.

    All parts read the same two sub-plans, which are computed once.
    """
    left, right, left_keys, right_keys = node.left, node.right, node.left_keys, node.right_keys
    pairs = Join(left, right, left_keys, right_keys, node.residual, node.time, node.keep_us)
    alone = AntiJoin(left, right, left_keys, right_keys, node.residual, node.time, node.keep_us)
    plan: Node = Union(pairs, _filled_up(alone, node.schema))
    if node.is_full:
        plan = Union(
            plan, _filled_up(AntiJoin(right, left, right_keys, left_keys, node.residual), node.schema)
        )
    return plan


def _filled_up(node: Node, schema: Schema) -> Project:
    """The rows with all columns of the schema: NULL in those that they do not have."""
    columns: dict[str, Expression] = {
        f.name: Column(f.type, f.name) if f.name in node.schema else Literal(f.type, None) for f in schema
    }
    return Project(node, tuple(columns.items()))
