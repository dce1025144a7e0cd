"""Points of a grid over the shares of boxes, to compare what is found with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from panes.optimizer.shedding.posynomial import Box, Posynomial

Points = Mapping[Box, np.ndarray]


def grid(boxes: Sequence[Box], steps: int, least: float = 0.0) -> Points:
    """All combinations of shares between the least and 1."""
    axes = np.meshgrid(*[np.linspace(least, 1, steps + 1)] * len(boxes), indexing="ij")
    return {box: axis.ravel() for box, axis in zip(boxes, axes, strict=True)}


def values(function: Posynomial, points: Points) -> np.ndarray:
    """The values of a function at all points."""
    found = np.zeros(len(next(iter(points.values()))))
    for powers, coefficient in function.terms:
        term = np.full_like(found, coefficient)
        for box, exponent in powers:
            term *= points[box] ** exponent
        found += term
    return found


def most_on_grid(
    output: Posynomial, cost: Posynomial, capacity: float, steps: int, least: float = 0.0
) -> float:
    """The largest value of the output at the points whose cost fits the capacity."""
    points = grid(cost.boxes, steps, least)
    return float(values(output, points)[values(cost, points) <= capacity].max())
