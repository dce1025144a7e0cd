"""Duplicate elimination over input with negative tuples (the δ operator)."""

from __future__ import annotations

from panes.operators.distinct_star import DistinctStar
from panes.operators.set_operation_by_count import SetOperationByCount
from panes.operators.tools.edge import Edge


class Distinct(SetOperationByCount):
    """One row per value that is held at least once.

    Output: a row when a value appears, and its negative tuple when the last of its rows leaves. STRICT.
    State, Cost: see Counting.
    """


def distinct(edge: Edge) -> DistinctStar | Distinct:
    """δ* where the input has no negative tuples, else δ."""
    return Distinct((edge,), "distinct") if edge.is_weighted else DistinctStar(edge)
