"""Selections, projections and unnest go below time windows, where they are stateless work on a stream."""

from __future__ import annotations

from panes.plan.nodes import Node, Project, Select, Unnest, Window, with_children
from panes.plan.windows import BeginEndWindow


def push_below_window(plan: Node) -> Node:
    """Select(Window(x)) → Window(Select(x)), and the same for Project and Unnest.

    A time window keeps or drops a tuple by its time alone, so what it holds can be filtered and computed
    before. A count window holds the last n of what is below it, so nothing passes it.
    """
    plan = with_children(plan, *map(push_below_window, plan.children))
    if isinstance(plan, (Select, Project, Unnest)) and isinstance(plan.child, Window):
        window = plan.child
        if window.spec.is_timed and not isinstance(window.spec, BeginEndWindow):
            return with_children(window, push_below_window(with_children(plan, window.child)))
    return plan
