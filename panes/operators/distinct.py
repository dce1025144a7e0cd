"""Duplicate elimination over input with negative tuples (the δ operator)."""

from __future__ import annotations

import numpy as np

from panes.delta.grouped import Numbers
from panes.operators.distinct_star import DistinctStar
from panes.operators.set_operation_by_count import SetOperationByCount
from panes.operators.tools.edge import Edge


class Distinct(SetOperationByCount):
    """One row per value that is held at least once.

    Output: a row when a value appears, and its negative tuple when the last of its rows leaves. STRICT.
    State, Cost: see Counting.
    """

    @classmethod
    def over(cls, edge: Edge) -> Distinct:
        return cls([edge], _once)


def _once(left: Numbers, _: Numbers) -> Numbers:
    return np.minimum(left, 1)


def distinct(edge: Edge) -> DistinctStar | Distinct:
    """δ* where the input has no negative tuples, else δ."""
    return Distinct.over(edge) if edge.is_weighted else DistinctStar.over(edge)
