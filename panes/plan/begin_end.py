"""Queries whose window is applied when someone asks."""

from __future__ import annotations

from panes.plan.nodes import Node, Window
from panes.plan.walk import walk
from panes.plan.windows import BeginEndWindow


def is_begin_end(plan: Node) -> bool:
    """Whether the plan has a `BEGIN … END` window: it is answered when it is invoked, and no epoch runs it."""
    return any(isinstance(node, Window) and isinstance(node.spec, BeginEndWindow) for node in walk(plan))
