"""The boxes of a query when its results and its cost are linear in what is kept: windows in ROWS."""

from __future__ import annotations

from panes.optimizer.shedding.posynomial import Box, Posynomial


def fill_boxes(output: Posynomial, cost: Posynomial, capacity: float, least: float = 0.0) -> dict[Box, float]:
    """The shares that give the most results within the capacity: a continuous knapsack (eq. 18 to 20).

    A box brings λi·Π_{k≠i} Wk results for each ai of cost. The box that brings the most for its cost is filled
    first; the last one that finds room is cut. Boxes with the same ratio are filled in the order of their names.
    """
    gains, costs = output.slopes, cost.slopes
    left = capacity - cost.at(dict.fromkeys(cost.boxes, least))
    kept: dict[Box, float] = {}
    for box in sorted(costs, key=lambda box: (-gains.get(box, 0.0) / costs[box], repr(box))):
        wanted = (1 - least) * costs[box]
        kept[box] = 1.0 if wanted <= left else least + max(left, 0.0) / costs[box]
        left -= min(wanted, max(left, 0.0))
    return kept
