"""Which plan of a join to run within a capacity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from panes.optimizer.shedding.boxes import Boxes
from panes.optimizer.shedding.sheddable_plans import SheddablePlan


@dataclass(frozen=True)
class SheddingPlan:
    """A plan with its boxes: results per second, and results per visit, by which plans are compared."""

    plan: SheddablePlan
    boxes: Boxes

    @property
    def rate(self) -> float:
        return self.plan.output.at(self.boxes.kept)

    @property
    def worth(self) -> float:
        """R(p) = λ(p)/C(p), with the boxes in (eq. 21)."""
        cost = self.plan.cost.at(self.boxes.kept)
        return self.rate / cost if cost else float("inf")


def choose_sheddable_plan(plans: Iterable[SheddablePlan], capacity: float) -> SheddingPlan:
    """The plan with the most results per visit once its boxes are set.

    Plans that fit give all results, so the cheapest of them wins. When none fits, all use up the capacity, so
    the one with the most results wins; it is often not the one that is cheapest without boxes.
    """
    return max(
        (SheddingPlan(plan, plan.shed(capacity)) for plan in plans), key=lambda shedding: shedding.worth
    )
