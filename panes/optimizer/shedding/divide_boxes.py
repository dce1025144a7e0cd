"""The boxes of queries that read one stream each, where all of them share the capacity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy

from panes.optimizer.shedding.posynomial import Box, Posynomial


def divide_boxes(
    weights: Mapping[Box, float], cost: Posynomial, capacity: float, least: float = 0.0
) -> dict[Box, float]:
    """The shares that maximize Σ weight·ln(share) within the capacity, when the cost is linear.

    Each box gets a part of the capacity in proportion to its weight; what a box cannot use goes to the others.
    A box without weight keeps as little as it may. Thousands of boxes take milliseconds.
    """
    slopes = cost.slopes
    costs = np.array(list(slopes.values()))
    wanted = np.array([weights.get(box, 0.0) for box in slopes]) / costs
    room = capacity - cost.fixed

    def shares(level: float) -> npt.NDArray[np.float64]:
        clipped: npt.NDArray[np.float64] = np.clip(wanted * level, least, 1.0)
        return clipped

    most = 1 / wanted[wanted > 0].min() if wanted.any() else 0.0
    if shares(most) @ costs <= room:
        kept = shares(most)
    else:
        kept = shares(
            scipy.optimize.brentq(
                lambda level: shares(level) @ costs - room, 0.0, most, xtol=1e-300, rtol=1e-14
            )
        )
    return dict(zip(slopes, kept.tolist(), strict=True))
