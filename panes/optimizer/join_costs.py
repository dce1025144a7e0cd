"""What a left-deep tree of joins costs, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panes.optimizer.joined_rows import JoinedRows
from panes.optimizer.statistics import Statistics


@dataclass(frozen=True)
class JoinCosts:
    """CPU microseconds of the parts of a join. What every join costs per span is the same in all orders."""

    arrival: float
    """Per row that comes to a join: it finds its partners, is kept, and expires."""
    pair: float
    """Per pair that a join makes, before it tests what is not equal."""
    shuffle: float
    """Per row of an intermediate result that goes to the shard of its next partners."""
    product: float = 1.0
    """How many times as much a join without keys counts."""

    @classmethod
    def of(cls, statistics: Statistics) -> JoinCosts:
        """Those that were measured, or are assumed."""
        arrival = sum(statistics.cost("Join", part) for part in ("probe", "insert", "expire"))
        return cls(arrival, statistics.cost("Join", "row"), statistics.cost("shuffle"))

    def of_join(self, rows: JoinedRows, left: int, right: int, lying: int) -> tuple[float, int]:
        """What it costs per second to join a relation with some that are joined already, and by which keys the
        result lies on shards.

        `lying` are the keys by which the left lies. Rows of one relation are routed by any key. A result is not,
        where joins below it have no key in common with the next one: it is shuffled, and so it is at every join
        from there on. A product has no key, and runs on one shard.
        """
        coming, partner = rows.changes(left), rows.changes(right)
        cost = (coming + partner) * self.arrival + rows.pairs(left, right) * self.pair
        keys = rows.keys(left, right)
        if not keys:
            cost *= self.product
        if not left & (left - 1):
            return cost, keys
        if not keys & lying:
            cost += coming * self.shuffle
        return cost, keys & lying

    def of_order(self, rows: JoinedRows, order: Sequence[int]) -> float:
        """What it costs per second to join relations in an order, each with all before it."""
        total, lying = 0.0, 0
        for left, right, _ in rows.joins(order):
            cost, lying = self.of_join(rows, left, right, lying)
            total += cost
        return total
