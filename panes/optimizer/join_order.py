"""The order in which relations are joined, by cost."""

from __future__ import annotations

from dataclasses import dataclass

from panes.optimizer.heuristic_orders import heuristic_orders
from panes.optimizer.join_costs import JoinCosts
from panes.optimizer.joined_rows import JoinedRows

MOST = 8
"""Relations for which all sets of them are looked at. The time grows threefold with each one more."""


@dataclass(frozen=True)
class JoinOrder:
    """Relations in the order in which each is joined with all before it, and what that costs per second.

    A join treats its sides alike. Of the first two the one that the text has first stands first.
    """

    order: tuple[int, ...]
    cost: float


def join_order(rows: JoinedRows, costs: JoinCosts) -> tuple[JoinOrder, ...]:
    """Orders of all relations, the cheapest first, each with another relation at the end; of equal costs the one
    that comes first in the text.

    Up to MOST relations it is dynamic programming over all sets of them (static-optimization, 5.2), and no order
    is cheaper than the first. A product is a join like any other: it is made where it pays. Beyond, the orders are
    those of a heuristic.
    """
    if len(rows.relations) > MOST:
        some = heuristic_orders(
            [found.rate for found in rows.relations],
            lambda one, other: rows.estimate(1 << one | 1 << other).size,
        )
        return _sorted([JoinOrder(order, costs.of_order(rows, order)) for order in some])
    best: dict[int, JoinOrder] = {}
    for relations in range(1, rows.all + 1):
        orders = _orders(relations, best, rows, costs)
        best[relations] = _sorted(orders)[0]
    return _sorted(orders)


def _orders(
    relations: int, best: dict[int, JoinOrder], rows: JoinedRows, costs: JoinCosts
) -> list[JoinOrder]:
    """The best order of a set of relations for each of them that can be the last, by the best ones of the rest.

    What a set costs when it is joined further does not depend on its own order: neither do its rows, nor the keys
    by which they lie.
    """
    numbers = [number for number in range(len(rows.relations)) if relations >> number & 1]
    if len(numbers) == 1:
        return [JoinOrder((numbers[0],), 0.0)]
    found = []
    for last in numbers if len(numbers) > 2 else numbers[1:]:
        left, right = relations & ~(1 << last), 1 << last
        before = best[left]
        found.append(JoinOrder((*before.order, last), before.cost + costs.of_join(rows, left, right)))
    return found


def _sorted(orders: list[JoinOrder]) -> tuple[JoinOrder, ...]:
    """By cost, and then by the text. Costs that differ after many digits are those of sums in another order."""
    return tuple(sorted(orders, key=lambda found: (float(f"{found.cost:.9e}"), found.order)))
