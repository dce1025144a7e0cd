"""The physical plan of a query, chosen by cost among those that give the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from panes.clock import WallClock
from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.alternatives.order_conjuncts import order_conjuncts
from panes.optimizer.alternatives.partition_bands import is_by_cell, partition_bands
from panes.optimizer.candidates import candidates
from panes.optimizer.checked import checked
from panes.optimizer.cost import plan_cost
from panes.optimizer.estimates import Estimates
from panes.optimizer.planning import Planning
from panes.optimizer.shedding.effective_cost import effective_cost
from panes.optimizer.statistics import Statistics
from panes.optimizer.utilization import utilization
from panes.optimizer.verdicts import Costed, verdicts
from panes.plan.nodes import AntiJoin, Except, Matched, Node, OuterJoin
from panes.plan.shape import shape
from panes.plan.sheddable import with_drop_boxes
from panes.plan.walk import walk
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import Candidate, Choice, PhysicalPlan
from panes.stages.store_kinds import store_kind

ORDERED = order_conjuncts.__name__
PARTITIONED = partition_bands.__name__
LAYOUT = "layout_by_early_departures"
"""The name under which rules_off has the choice of how state above a negation is laid out."""
_AS_GOOD = 1 - 1e-6
"""Below which part of the cost of an earlier candidate a later one is preferred: of plans that cost the same the
one that is written is taken."""


def choose_plan(
    plan: Node, statistics: Statistics, planning: Planning, rules: tuple[str, ...] = ()
) -> PhysicalPlan:
    """The cheapest physical plan of an optimized logical plan, with the reasons; `rules` are those that have
    changed it before.

    SettingError when the plan cannot run under the strategy.
    """
    estimates = Estimates(statistics)
    if ORDERED not in planning.rules_off:
        for ordered in _ordered(plan, statistics):
            plan, rules = ordered.plan, (*rules, ORDERED)
    costed = list(_costed(plan, statistics, planning, estimates))
    best = costed[0]
    for one in costed[1:]:
        if _is_better(one, best, planning):
            best = one
    others = sorted((one for one in costed if one is not best), key=lambda one: one.effective)
    found = [best, *others]
    shown = tuple(
        Candidate(one.name, shape(one.plan.plan), one.cost.rate, one.cost.state, one.cost.cpu, verdict)
        for one, verdict in zip(found, verdicts(costed[0], found), strict=True)
    )
    capacity = None if planning.cores is None else float(planning.cores)
    return replace(best.plan, choice=Choice((*rules, *best.rules), shown, capacity))


def _is_better(one: Costed, best: Costed, planning: Planning) -> bool:
    """Whether a plan is cheaper than the best of those before it. One that the cluster can run comes before one
    that it cannot, because a stage on one shard takes more than a core, or all together more than there are. Of
    two that it cannot run whole, and that may shed, the one that keeps more results."""
    fits, best_fits = (utilization([each.cost], planning.cores).is_feasible for each in (one, best))
    return one.effective < _AS_GOOD * best.effective if fits is best_fits else fits


def _ordered(plan: Node, statistics: Statistics) -> tuple[Alternative, ...]:
    """The plan with conditions tested one after the other where that pays; none when it is nowhere."""
    made = checked(
        ORDERED, plan, lambda: [Alternative(ORDERED, order_conjuncts(plan, statistics))], WallClock()
    )
    return made.plans


def _costed(plan: Node, statistics: Statistics, planning: Planning, estimates: Estimates) -> Iterator[Costed]:
    """The physical plans of all candidates, the one that is written first."""
    for one in candidates(plan, estimates, planning).plans:
        for name, leaves_early in _layouts(one, planning):
            relation = with_drop_boxes(one.plan) if planning.sheds else one.plan
            rules: tuple[str, ...] = ()
            made = _made(relation, planning, leaves_early=leaves_early)
            for partitioned in _partitioned(relation, planning, estimates):
                spread = _made(partitioned.plan, planning, leaves_early=leaves_early)
                if _has_cells_on_all_shards(spread):
                    made, rules = spread, (PARTITIONED,)
            shards = planning.cores or 1
            cost = plan_cost(made, statistics, estimates, shards)
            effective = effective_cost(made, cost, statistics, planning.cores, shards)
            yield Costed(name, made, cost, effective, rules)


def _made(plan: Node, planning: Planning, *, leaves_early: bool) -> PhysicalPlan:
    return make_plan(
        plan,
        strategy=planning.strategy,
        calendar_days=planning.calendar_days,
        lazy_expiration=planning.lazy_expiration,
        every_instant=planning.every_instant,
        large_tables=planning.large_tables,
        leaves_early=leaves_early,
    )


def _partitioned(plan: Node, planning: Planning, estimates: Estimates) -> tuple[Alternative, ...]:
    """The plan with cells as keys of its joins by bands; none when it has no such join, or one shard is all there
    is. What queries share stays as it is."""
    if planning.has_one_shard or PARTITIONED in planning.rules_off or store_kind(plan) is not None:
        return ()
    if any(isinstance(node, Matched) for node in walk(plan)):
        return ()
    made = checked(
        PARTITIONED, plan, lambda: [Alternative(PARTITIONED, partition_bands(plan, estimates))], WallClock()
    )
    return made.plans


def _has_cells_on_all_shards(plan: PhysicalPlan) -> bool:
    """Whether all joins by cells run on all shards. Where something else keeps one of them on a single shard, such
    as a count window, copies of rows would gain nothing."""
    return not any(
        step.operator == "Join" and is_by_cell(step.node)
        for stage in plan.stages
        if not stage.is_sharded and stage.fragment is not None
        for step in stage.fragment.steps
    )


def _layouts(one: Alternative, planning: Planning) -> Iterator[tuple[str, bool]]:
    """How state above negations may be laid out: for many results that leave before their time, or for few."""
    yield one.name, True
    if (
        planning.strategy == "upa"
        and LAYOUT not in planning.rules_off
        and any(map(_is_negation, walk(one.plan)))
    ):
        yield f"{one.name}, lifetimes above the negation", False


def _is_negation(node: Node) -> bool:
    if isinstance(node, (AntiJoin, OuterJoin)):
        return node.time is None
    return isinstance(node, Except)
