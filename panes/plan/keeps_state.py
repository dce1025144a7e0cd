"""Which nodes remember rows."""

from __future__ import annotations

from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Join,
    MultiJoin,
    Node,
    OuterJoin,
    Over,
    SemiJoin,
    TopN,
    Window,
)

_ALWAYS = (Distinct, GroupBy, Join, MultiJoin, OuterJoin, SemiJoin, AntiJoin, Intersect, Except, Over, TopN)


def keeps_state(node: Node) -> bool:
    """Whether what a node gives depends on rows that came before. A time window only says when rows leave."""
    return isinstance(node, _ALWAYS) or (isinstance(node, Window) and not node.spec.is_timed)
