"""The plans of a join of windows that load may be shed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

from panes.optimizer.shedding.boxes import Boxes
from panes.optimizer.shedding.drop_boxes import drop_boxes
from panes.optimizer.shedding.posynomial import Box, Posynomial
from panes.optimizer.shedding.windowed_join import WindowedJoin


@dataclass(frozen=True)
class SheddablePlan:
    """A left-deep plan: the streams in the order in which they are joined."""

    join: WindowedJoin
    order: tuple[Box, ...]

    @cached_property
    def cost(self) -> Posynomial:
        """Tuples per second that come to the joins, from streams and from the join before: visits."""
        streams = [self.join.rate([box]) for box in self.order]
        return Posynomial.sum(
            [*streams, *(self.join.rate(self.order[:n]) for n in range(2, len(self.order)))]
        )

    @cached_property
    def output(self) -> Posynomial:
        """Results per second, the same for all plans of a join."""
        return self.join.rate(self.order)

    @property
    def has_product(self) -> bool:
        """Whether a stream is joined by no condition."""
        return any(not self.join.are_joined(self.order[:n], self.order[n]) for n in range(1, len(self.order)))

    def shed(self, capacity: float) -> Boxes:
        """The boxes at the streams with which the visits per second fit the capacity."""
        return drop_boxes({self.order: self.output}, self.cost, capacity)

    def __str__(self) -> str:
        return " ⋈ ".join(str(box) for box in self.order)


def sheddable_plans(join: WindowedJoin, products: bool = True) -> Sequence[SheddablePlan]:
    """The left-deep plans of a join; the first two streams are joined in the order in which they are named.

    Products are worth their price when much is dropped: the cheap stream of a product may be the one to drop from.
    """
    return [plan for plan in _plans(join) if products or not plan.has_product]


def _plans(join: WindowedJoin) -> Iterator[SheddablePlan]:
    place = {stream.box: number for number, stream in enumerate(join.streams)}
    for order in permutations(place):
        if len(order) < 2 or place[order[0]] < place[order[1]]:
            yield SheddablePlan(join, order)
