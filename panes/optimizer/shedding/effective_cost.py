"""What a plan costs for what it gives, once its drop boxes make it fit."""

from __future__ import annotations

from panes.optimizer.cost import PlanCost
from panes.optimizer.shedding.drop_boxes import drop_boxes
from panes.optimizer.shedding.shares_of_plan import shares_of_plan
from panes.optimizer.statistics import Statistics
from panes.stages.physical_plan import PhysicalPlan

_LEAST = 0.001


def effective_cost(
    plan: PhysicalPlan, cost: PlanCost, statistics: Statistics, cores: int | None, shards: int = 1
) -> float:
    """CPU seconds per second by which plans of one query are compared.

    A plan that fits costs what it costs, and so does one without drop boxes. Of plans that do not fit, those with
    the most results per unit of cost are the best, R(p) = λ(p)/C(p) with the boxes in (eq. 21): all use up the
    cores, so it is the one that keeps the most. What is given is C/λ times the results without boxes, so that a
    plan that keeps half of its results costs twice what there is.
    """
    has_boxes = any(source.has_drop_box for stage in plan.stages for source in stage.inputs)
    if cores is None or cost.cpu <= cores or not has_boxes:
        return cost.cpu
    found = shares_of_plan("", plan, statistics, shards)
    beside = cost.cpu - found.cost.at({})
    # What no box changes may take more than there is; then the least shares tell which plan loses less.
    boxes = drop_boxes({"": found.output}, found.cost + max(0.0, beside), float(cores), least=_LEAST)
    kept, given = found.output.at(boxes.kept), found.output.at({})
    return boxes.cost * given / kept if kept > 0 else cost.cpu
