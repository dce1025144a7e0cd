"""What a logical plan is expected to cost, roughly: enough to tell which plans are worth a closer look."""

from __future__ import annotations

from panes.optimizer.estimates import Estimates
from panes.optimizer.pipelined_visits import pipelined_visits
from panes.plan.nodes import AntiJoin, Distinct, Except, GroupBy, Join, MultiJoin, Node, OuterJoin, SemiJoin
from panes.plan.walk import walk

_KEEPING = (AntiJoin, Distinct, Except, GroupBy, Join, MultiJoin, OuterJoin, SemiJoin)
"""Nodes whose operators keep rows: what alternatives differ in."""


def logical_cost(plan: Node, estimates: Estimates) -> float:
    """CPU microseconds per second of what keeps rows: for every row that comes or is taken back, and every row
    that is given."""
    return sum(_cost(node, estimates) for node in walk(plan) if isinstance(node, _KEEPING))


def _cost(node: Node, estimates: Estimates) -> float:
    name = type(node).__name__
    each = estimates.statistics.cost(name)
    given = estimates.of(node)
    rates = [below.rate + below.early for below in map(estimates.of, node.children)]
    come = sum(rates)
    if isinstance(node, (Join, MultiJoin)):
        cost = estimates.statistics.cost
        visits = given.rate if isinstance(node, Join) else pipelined_visits(node, rates, estimates)
        return come * sum(cost(name, part) for part in ("probe", "insert", "expire")) + visits * cost(
            name, "visit"
        )
    return come * each + (given.rate + given.early) * each
