"""How much each drop box keeps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from panes.optimizer.shedding.boxes import Boxes
from panes.optimizer.shedding.divide_boxes import divide_boxes
from panes.optimizer.shedding.fill_boxes import fill_boxes
from panes.optimizer.shedding.posynomial import Box, Posynomial
from panes.optimizer.shedding.solve_boxes import solve_boxes


def drop_boxes(
    outputs: Mapping[Hashable, Posynomial],
    cost: Posynomial,
    capacity: float,
    priorities: Mapping[Hashable, float] | None = None,
    least: float = 0.0,
) -> Boxes:
    """The shares to keep so that all queries together fit the capacity, with the least loss of results.

    `outputs` has the results per second of each query. The loss of a query is the logarithm of the share of its
    results that it keeps, times its priority (1 unless it is given). The shares maximize the sum:

    * For one query that is the paper's goal, the most results per second.
    * For several, no query is left without results, and results of one query need not be compared with those of
      another: the paper's weighted rate would give everything to the queries with cheap results.
    * When queries over one stream shed, each gets a part of the capacity in proportion to its priority.

    When everything fits, all boxes keep everything; otherwise the capacity is used up. No box keeps less than
    `least`: a stream of which nothing is kept leaves nothing to estimate from.

    The form of the functions decides how the shares are found. One query over windows in ROWS has a linear
    output and a linear cost: `fill_boxes`. Results that are products of shares at a linear cost, as of queries
    that read one stream each: `divide_boxes`. All else is a program in the logarithms of the shares:
    `solve_boxes`.

    >>> x = Posynomial.share("packets")
    >>> drop_boxes({"q": 1000 * x}, 0.8 * x + 0.2, capacity=0.5).kept
    {'packets': 0.37499999999999994}
    """
    if capacity <= 0:
        raise ValueError(f"a capacity of {capacity} leaves nothing to keep")
    if not 0 <= least <= 1:
        raise ValueError(f"{least} is not a share")
    everything = dict.fromkeys(cost.boxes, 1.0)
    if cost.at(everything) <= capacity:
        return Boxes(everything, cost.at(everything), capacity)
    nothing = dict.fromkeys(cost.boxes, least)
    if cost.at(nothing) >= capacity:
        return Boxes(nothing, cost.at(nothing), capacity)
    # A box that costs nothing keeps everything; a query without results has none to lose.
    free = {box: 1.0 for output in outputs.values() for box in output.boxes if box not in everything}
    goals = [
        (goal, 1.0 if priorities is None else priorities.get(query, 1.0))
        for query, output in outputs.items()
        if (goal := output.given(free)).boxes
    ]
    kept = _kept(goals, cost, capacity, least)
    return Boxes(kept, cost.at(kept), capacity)


def _kept(
    goals: Sequence[tuple[Posynomial, float]], cost: Posynomial, capacity: float, least: float
) -> dict[Box, float]:
    if cost.is_linear and len(goals) == 1 and goals[0][0].is_linear:
        return fill_boxes(goals[0][0], cost, capacity, least)
    if cost.is_linear and all(goal.is_monomial for goal, _ in goals):
        weights: dict[Box, float] = {}
        for goal, weight in goals:
            ((powers, _),) = goal.terms
            for box, exponent in powers:
                weights[box] = weights.get(box, 0.0) + weight * exponent
        return divide_boxes(weights, cost, capacity, least)
    return solve_boxes(goals, cost, capacity, least)
