"""The results of a join that nobody sees, because they come and go between two slides."""

from __future__ import annotations

from panes.optimizer.estimates import Estimates
from panes.plan.nodes import Distinct, Join, MultiJoin, Node, Project, Select, Window
from panes.plan.windows import RangeWindow


def lost_results(node: Node, estimates: Estimates) -> float:
    """The share of the results of a join that is lost at most where windows have SLIDE: slide / range, weighted by
    the rates of the windows (thesis, 5.2.3). 0 for other nodes, and where an input also changes between slides.

    It takes lifetimes of results to be spread evenly. RESTORE computes a plan without slides, where none are lost.
    """
    if not isinstance(node, (Join, MultiJoin)):
        return 0.0
    rates, lost = 0.0, 0.0
    for child in node.children:
        spec = _window(child)
        if spec is None or spec.slide_us is None:
            return 0.0
        rate = estimates.of(child).rate
        rates += rate
        lost += rate * min(1.0, spec.slide_us / spec.range_us)
    return lost / rates if rates else 0.0


def _window(node: Node) -> RangeWindow | None:
    """The one window that rows of an input are from."""
    while isinstance(node, (Distinct, Project, Select)):
        node = node.child
    return node.spec if isinstance(node, Window) and isinstance(node.spec, RangeWindow) else None
