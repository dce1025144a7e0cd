"""Bag intersection (INTERSECT ALL)."""

from __future__ import annotations

from panes.operators.set_operation_by_count import SetOperationByCount
from panes.operators.set_operation_by_lifetime import SetOperationByLifetime
from panes.operators.tools.edge import Edge, harder
from panes.plan.patterns import Pattern


def intersect(left: Edge, right: Edge) -> SetOperationByLifetime | SetOperationByCount:
    """Each value as often as on the side that has fewer of it.

    Over inputs without negative tuples the output has none either; else it is found by counting.
    """
    pattern = harder(left.pattern, right.pattern)
    if pattern is Pattern.STRICT:
        return SetOperationByCount((left, right), "intersect")
    return SetOperationByLifetime(left, right, "intersect", pattern)
