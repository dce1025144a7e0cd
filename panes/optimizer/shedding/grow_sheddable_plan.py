"""A plan of a join that is grown stream by stream, for joins of too many streams to try all orders."""

from __future__ import annotations

from itertools import combinations

from panes.optimizer.shedding.boxes import Boxes
from panes.optimizer.shedding.choose_sheddable_plan import SheddingPlan
from panes.optimizer.shedding.drop_boxes import drop_boxes
from panes.optimizer.shedding.posynomial import Box
from panes.optimizer.shedding.sheddable_plans import SheddablePlan
from panes.optimizer.shedding.windowed_join import WindowedJoin


def grow_sheddable_plan(join: WindowedJoin, capacity: float) -> SheddingPlan:
    """The plan that dynamic programming finds over sets of streams (5.2), with products.

    The best plan of a set is the best of one stream less, joined with that stream. A plan that does not fit
    gets its boxes at once, and they stay: a second box at a stream multiplies with the first. The result is the
    best plan when one fits; when none does it need not be, because boxes that suit a part may not suit the
    whole.
    """
    streams = [stream.box for stream in join.streams]
    best = {
        frozenset((box,)): _shed(SheddablePlan(join, (box,)), Boxes({}, 0.0, capacity)) for box in streams
    }
    for size in range(2, len(streams) + 1):
        for chosen in combinations(streams, size):
            grown = (_joined(best[frozenset(chosen) - {last}], last) for last in chosen)
            best[frozenset(chosen)] = max(grown, key=lambda shedding: shedding.worth)
    return best[frozenset(streams)]


def _joined(left: SheddingPlan, last: Box) -> SheddingPlan:
    return _shed(SheddablePlan(left.plan.join, (*left.plan.order, last)), left.boxes)


def _shed(plan: SheddablePlan, before: Boxes) -> SheddingPlan:
    """The plan with boxes behind those of the part that it was grown from."""
    output, cost = plan.output.behind(before.kept), plan.cost.behind(before.kept)
    behind = drop_boxes({plan.order: output}, cost, before.capacity)
    kept = {box: before.share(box) * share for box, share in behind.kept.items()}
    return SheddingPlan(plan, Boxes({**before.kept, **kept}, behind.cost, before.capacity))
