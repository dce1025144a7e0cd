"""Bag intersection (INTERSECT ALL)."""

from __future__ import annotations

import numpy as np

from panes.operators.counting import Counting
from panes.operators.edge import Edge, harder
from panes.operators.timelines import Timelines
from panes.plan.patterns import Pattern


def intersect(left: Edge, right: Edge) -> Timelines | Counting:
    """Each value as often as on the side that has fewer of it.

    Over inputs without negative tuples the output has none either; else it is found by counting.
    """
    pattern = harder(left.pattern, right.pattern)
    if pattern is Pattern.STRICT:
        return Counting([left, right], np.minimum)
    return Timelines(left, right, np.minimum, pattern)
