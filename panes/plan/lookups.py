"""Lookups: joins, semi- and anti-joins whose left rows meet a table as it was at their own time."""

from __future__ import annotations

from typing import TypeGuard

from panes.plan.nodes import (
    AntiJoin,
    Join,
    Node,
    OuterJoin,
    Project,
    Select,
    SemiJoin,
    TableScan,
    Union,
    Unnest,
)

Matching = Join | OuterJoin | SemiJoin | AntiJoin


def is_lookup(node: Node) -> TypeGuard[Matching]:
    """Whether a node looks rows up in a table that is not retroactive."""
    return isinstance(node, (Join, OuterJoin, SemiJoin, AntiJoin)) and node.time is not None


def table_below(node: Node) -> TableScan | None:
    """The table under a chain of selections, projections and unnest; None when there is anything else in it."""
    while isinstance(node, (Select, Project, Unnest)):
        node = node.child
    return node if isinstance(node, TableScan) else None


def has_lookup(stream: Node) -> bool:
    """Whether tuples of a stream have met a table before they come to this edge."""
    if is_lookup(stream):
        return True
    return isinstance(stream, (Select, Project, Unnest, Union)) and any(map(has_lookup, stream.children))
