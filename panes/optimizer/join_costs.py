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
    """Per pair that a join visits, before it tests what is not equal."""
    shuffle: float
    """Per row of an intermediate result that goes to the shard of its next partners."""
    product: float = 1.0
    """How many times as much a join without keys counts."""

    @classmethod
    def of(cls, statistics: Statistics) -> JoinCosts:
        """Those that were measured, or are assumed."""
        arrival = sum(statistics.cost("Join", part) for part in ("probe", "insert", "expire"))
        return cls(arrival, statistics.cost("Join", "visit"), statistics.cost("shuffle"))

    def of_join(self, rows: JoinedRows, left: int, right: int) -> float:
        """What it costs per second to join a relation with some that are joined already.

        Rows of one relation are routed by any key. A result lies by the keys that all joins below it have in
        common: where these have none in common with the next one, it is shuffled, and so it is at every join from
        there on. A product has no key, and runs on one shard.
        """
        coming = rows.changes(left)
        cost = (coming + rows.changes(right)) * self.arrival + rows.pairs(left, right) * self.pair
        if self.product != 1 and not rows.keys(left, right):
            cost *= self.product
        is_result = left & (left - 1)
        if is_result and not rows.has_column_of_all(left | right):
            cost += coming * self.shuffle
        return cost

    def of_order(self, rows: JoinedRows, order: Sequence[int]) -> float:
        """What it costs per second to join relations in an order, each with all before it."""
        return sum(self.of_join(rows, left, right) for left, right in rows.joins(order))
