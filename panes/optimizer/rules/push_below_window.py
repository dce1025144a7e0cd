"""Projections and unnest go below time windows, where they are stateless work on a stream."""

from __future__ import annotations

from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.nodes import Node, Project, Unnest, Window, with_children
from panes.plan.windows import BeginEndWindow


def push_below_window(plan: Node) -> Node:
    """The plan with projections and unnest below time windows.

        Project a.k + 1 AS x              Window [RANGE 1 MINUTE]
          Window [RANGE 1 MINUTE]    →      Project a.k + 1 AS x
            Stream a                          Stream a

    A time window keeps or drops a tuple by its time alone, so what it holds can be computed before. A count window
    holds the last n of what is below it, and tuples that bring their own ends need that column: nothing passes
    these.
    """
    plan = with_children(plan, *map(push_below_window, plan.children))
    if isinstance(plan, (Project, Unnest)) and isinstance(plan.child, Window):
        window = plan.child
        if _is_passed(window):
            return with_children(window, push_below_window(with_children(plan, window.child)))
    return plan


def _is_passed(window: Window) -> bool:
    return window.spec.is_timed and not isinstance(window.spec, (BeginEndWindow, LifetimeWindow))
