"""Whether rows come and go in panes, first in, first out."""

from __future__ import annotations

from panes.plan.nodes import Node, Project, Select, Unnest, Window
from panes.plan.windows import Instants, RangeWindow, RowsWindow

PANED = RangeWindow | RowsWindow


def window_of_panes(node: Node) -> PANED | None:
    """The window with SLIDE whose rows reach this edge, pane after pane; None when there is no such window.

    Selections and projections leave rows in their panes. What else stands between may let them go in another
    order. A window of partitions has panes of its own for each of them. The rows of a count window that slides in
    time come together and leave one by one.
    """
    while isinstance(node, (Select, Project, Unnest)):
        node = node.child
    if not isinstance(node, Window) or not isinstance(node.spec, (RangeWindow, RowsWindow)):
        return None
    spec = node.spec
    if isinstance(spec, RowsWindow) and spec.slide_us is not None:
        return None
    return None if spec.internal or spec.partition_by or not spec.has_slide else spec


def panes_of(spec: PANED) -> int:
    """How many panes the window holds: rows that come together and leave together.

    >>> panes_of(RangeWindow(600, 60)), panes_of(RowsWindow(100_000, 500)), panes_of(RangeWindow(350, 100))
    (10, 200, 7)
    """
    length, slide = _lengths(spec)
    # Where the length is no multiple of the slide, each slide begins a pane and ends another one.
    return length // slide + (-(-length // slide) if length % slide else 0)


def pane_numbers(spec: PANED, comes: Instants, leaves: Instants) -> Instants:
    """The pane of each row as a number, from when it comes and leaves: instants, or numbers of tuples.

    Where the length is no multiple of the slide, rows that leave together come at two slides, in panes of their
    own. What comes still later is late, and is of the younger one of these panes.
    """
    length, slide = _lengths(spec)
    numbers: Instants = 2 * leaves + (leaves - comes > length // slide * slide)
    return numbers


def _lengths(spec: PANED) -> tuple[int, int]:
    length, slide = (
        (spec.range_us, spec.slide_us) if isinstance(spec, RangeWindow) else (spec.rows, spec.slide)
    )
    assert slide is not None
    return length, slide
