"""The results of a join that nobody sees, because they come and go between two slides."""

from __future__ import annotations

from panes.plan.nodes import Distinct, Join, MultiJoin, Node, Project, Select, Window
from panes.plan.windows import RangeWindow


def lost_results(node: Node) -> float:
    """The share of the results of a join that are lost where all its windows have SLIDE (thesis, 5.2.3); 0 for
    other nodes, and where an input also changes between slides.

    A result comes with its last row, which is seen half a slide later on average. It is lost when one of its other
    rows leaves until then: of a window of T seconds with a chance of slide / 2T, if rows of all ages join alike. A
    row of a short window is the last one more often, as 1 / T. RESTORE computes a plan without slides, where
    nothing is lost.
    """
    if not isinstance(node, (Join, MultiJoin)):
        return 0.0
    found = [_window(child) for child in node.children]
    windows = [spec for spec in found if spec is not None and spec.slide_us is not None]
    if len(windows) < len(found):
        return 0.0
    often = [1 / spec.range_us for spec in windows]
    lost = 0.0
    for spec, own in zip(windows, often, strict=True):
        lost += own / sum(often) * (spec.slide_us or 0) / 2 * (sum(often) - own)
    return min(lost, 1.0)


def _window(node: Node) -> RangeWindow | None:
    """The one window that rows of an input are from."""
    while isinstance(node, (Distinct, Project, Select)):
        node = node.child
    return node.spec if isinstance(node, Window) and isinstance(node.spec, RangeWindow) else None
