"""The physical plan of a query, chosen by cost among those that give the same answer."""

from __future__ import annotations

from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Statistics
from panes.plan.nodes import Node
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalPlan


def choose_plan(plan: Node, statistics: Statistics, planning: Planning) -> PhysicalPlan:  # noqa: ARG001
    """The cheapest physical plan of an optimized logical plan."""
    return make_plan(
        plan,
        strategy=planning.strategy,
        calendar_days=planning.calendar_days,
        every_instant=planning.every_instant,
        large_tables=planning.large_tables,
    )
