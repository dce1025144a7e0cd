"""Bag difference (EXCEPT ALL)."""

from __future__ import annotations

from panes.operators.set_operation_by_count import SetOperationByCount
from panes.operators.set_operation_by_lifetime import SetOperationByLifetime
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern


def except_(
    left: Edge, right: Edge, *, leaves_early: bool = True
) -> SetOperationByLifetime | SetOperationByCount:
    """Each value as often as the left side has more of it than the right.

    `leaves_early` says whether most rows are expected to leave the answer by a new row on the right: then
    every departure is a negative tuple, and counting suffices. Otherwise rows are given with their time to
    leave, and only what leaves before it is taken back.
    """
    if leaves_early or Pattern.STRICT in (left.pattern, right.pattern):
        return SetOperationByCount((left, right), "except")
    return SetOperationByLifetime(left, right, "except", Pattern.STRICT)
