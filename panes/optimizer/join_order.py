"""The order in which relations are joined, by cost."""

from __future__ import annotations

from dataclasses import dataclass

from panes.optimizer.heuristic_orders import heuristic_orders
from panes.optimizer.join_costs import JoinCosts
from panes.optimizer.joined_rows import JoinedRows

MOST = 8
"""Relations for which all sets of them are looked at. The time grows threefold with each one more."""
_SAME = 1 - 1e-9
"""Costs that differ by less are those of sums in another order."""


@dataclass(frozen=True)
class JoinOrder:
    """Relations in the order in which each is joined with all before it, and what that costs per second.

    A join treats its sides alike. Of the first two the one that the text has first stands first.
    """

    order: tuple[int, ...]
    cost: float


@dataclass(frozen=True)
class _Joined:
    """A way to join a set of relations, and the keys by which its result lies on shards."""

    order: tuple[int, ...]
    cost: float
    lying: int

    def is_as_good_as(self, other: _Joined) -> bool:
        return self.cost * _SAME <= other.cost and not other.lying & ~self.lying


def join_order(rows: JoinedRows, costs: JoinCosts) -> tuple[JoinOrder, ...]:
    """Orders of all relations, the cheapest first, each with another relation at the end; of equal costs the one
    that comes first in the text.

    Up to MOST relations it is dynamic programming over all sets of them (static-optimization, 5.2), and no order
    is cheaper than the first. A product is a join like any other: it is made where it pays. Beyond, the orders are
    those of a heuristic.
    """
    if len(rows.relations) > MOST:
        orders = heuristic_orders(
            [found.rate for found in rows.relations],
            lambda one, other: rows.estimate(1 << one | 1 << other).size,
        )
        return _sorted([JoinOrder(order, costs.of_order(rows, order)) for order in orders])
    best: dict[int, list[_Joined]] = {}
    for relations in range(1, rows.all + 1):
        ways = _ways(relations, best, rows, costs)
        best[relations] = ways if relations == rows.all else _undominated(ways)
    by_last: dict[int, JoinOrder] = {}
    for found in _sorted([JoinOrder(way.order, way.cost) for way in best[rows.all]]):
        by_last.setdefault(found.order[-1], found)
    return tuple(by_last.values())


def _ways(
    relations: int, best: dict[int, list[_Joined]], rows: JoinedRows, costs: JoinCosts
) -> list[_Joined]:
    """The best ways to join a set of relations for each of them that can be the last, in the order of the text."""
    numbers = [number for number in range(len(rows.relations)) if relations >> number & 1]
    if len(numbers) == 1:
        return [_Joined((numbers[0],), 0.0, 0)]
    found = []
    for last in numbers if len(numbers) > 2 else numbers[1:]:
        left, right = relations & ~(1 << last), 1 << last
        for way in best[left]:
            cost, lying = costs.of_join(rows, left, right, way.lying)
            found.append(_Joined((*way.order, last), way.cost + cost, lying))
    return sorted(found, key=lambda way: way.order)


def _undominated(ways: list[_Joined]) -> list[_Joined]:
    """Without the ways that cost no less than an earlier one and leave no more keys to lie by."""
    kept: list[_Joined] = []
    for way in ways:
        if not any(other.is_as_good_as(way) for other in kept):
            kept = [other for other in kept if not way.is_as_good_as(other)] + [way]
    return kept


def _sorted(orders: list[JoinOrder]) -> tuple[JoinOrder, ...]:
    return tuple(sorted(orders, key=lambda found: (float(f"{found.cost:.9e}"), found.order)))
