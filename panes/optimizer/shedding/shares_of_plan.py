"""What a physical plan costs, and what it gives, as functions of the shares that its drop boxes keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from panes.optimizer.cost import plan_cost
from panes.optimizer.estimates import Estimates
from panes.optimizer.shedding.fit_posynomial import fit_posynomial, halves_of, products_of
from panes.optimizer.shedding.posynomial import Box, Posynomial
from panes.optimizer.shedding.row_costs import RowCosts
from panes.optimizer.statistics import Statistics
from panes.plan.nodes import Drop, GroupBy, Node
from panes.plan.walk import walk
from panes.stages.physical_plan import PhysicalPlan

_SHARE_OF_OUTPUT = 0.02
"""Terms that are less of the results do not decide what is dropped; without them the program is often convex."""


@dataclass(frozen=True)
class SharesOfPlan:
    """The two functions. A box is called by the query that it belongs to, and its stream."""

    cost: Posynomial
    """CPU seconds per second of event time that rows take, without reading them: a box lies behind that."""
    output: Posynomial
    """Rows per second that the answer is made of: results, or what is summed up where it has aggregates. How many
    groups have another value hardly depends on what is dropped, and says nothing of how good their values are."""


def shares_of_plan(
    query: Hashable, plan: PhysicalPlan, statistics: Statistics, shards: int = 1
) -> SharesOfPlan:
    """The functions of a plan with drop boxes, by the cost model under these statistics.

    A box thins out what comes to its stream. So windows in RANGE shrink and windows in ROWS do not, and joins find
    fewer pairs. What every epoch costs is left out: it is there however few rows come.
    """
    statistics = RowCosts(statistics.facts)
    scans = Counter(node.stream for node in walk(plan.plan) if isinstance(node, Drop))
    degrees: Mapping[Box, int] = {(query, stream): times for stream, times in scans.items()}
    made_of = _made_of(plan.plan)

    def kept(shares: Mapping[Box, float]) -> Estimates:
        return Estimates(statistics, {stream: shares[query, stream] for stream in scans})

    def cost(shares: Mapping[Box, float]) -> float:
        return plan_cost(plan, statistics, kept(shares), shards).own

    def output(shares: Mapping[Box, float]) -> float:
        return kept(shares).of(made_of).rate

    products = products_of(degrees)
    return SharesOfPlan(
        # What comes to the boxes is a constant.
        fit_posynomial(cost, [*products, *halves_of(degrees)]),
        # Where nothing passes, nothing is given.
        fit_posynomial(output, [powers for powers in products if powers], _SHARE_OF_OUTPUT),
    )


def _made_of(plan: Node) -> Node:
    """What is summed up, or the plan itself. Estimates may be summed up in several steps: the lowest counts."""
    summed = [node.child for node in walk(plan) if isinstance(node, GroupBy)]
    return summed[-1] if summed else plan
