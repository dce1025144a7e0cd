"""The logical plans among which cost decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from panes.clock import Clock, WallClock
from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.alternatives.distinct_below_joins import distinct_below_joins
from panes.optimizer.alternatives.join_orders import join_orders
from panes.optimizer.alternatives.pipeline_joins import pipeline_joins
from panes.optimizer.alternatives.place_negation import negation_placed, place_negation
from panes.optimizer.alternatives.push_lookups import push_lookups
from panes.optimizer.checked import checked
from panes.optimizer.estimates import Estimates
from panes.optimizer.logical_cost import logical_cost
from panes.optimizer.planning import Planning
from panes.plan.nodes import AntiJoin, Istream, Join, Matched, Node, Rstream, SemiJoin, Window, Wstream
from panes.plan.walk import walk

AS_WRITTEN = "as written"
_MOST = 4
"""Plans that are followed further after each kind of alternative, the one that is written among them."""

_Make = Callable[[Node, Estimates], Iterable[Alternative]]

ALTERNATIVES: dict[str, _Make] = {
    "place_negation": lambda plan, _: place_negation(plan),
    "distinct_below_joins": distinct_below_joins,
    "push_lookups": lambda plan, _: push_lookups(plan),
    "pipeline_joins": pipeline_joins,
    "join_orders": join_orders,
}
"""In the order in which they are tried, each on all plans that those before have left."""


@dataclass(frozen=True)
class Candidates:
    """Plans with the same answer, the one that is written first, and how long each kind of alternative took."""

    plans: tuple[Alternative, ...]
    seconds: dict[str, float] = field(default_factory=dict)


def candidates(
    plan: Node, estimates: Estimates, planning: Planning, clock: Clock | None = None
) -> Candidates:
    """The plans that promise to cost least, of all that alternatives make of an optimized plan."""
    clock = clock or WallClock()
    found = [Alternative(AS_WRITTEN, plan)]
    seconds: dict[str, float] = {}
    for name in _allowed(plan):
        if name in planning.rules_off or (name == "pipeline_joins" and planning.join == "tree"):
            continue
        make = ALTERNATIVES[name]
        if name == "place_negation" and planning.negation != "auto":
            found = [_by_setting(plan, planning, clock)]
            continue
        made: list[Alternative] = []
        for one in found:
            result = checked(name, one.plan, lambda: make(one.plan, estimates), clock)  # noqa: B023  called at once
            seconds[name] = seconds.get(name, 0.0) + result.seconds
            made += (_after(one, other) for other in result.plans)
        if name == "pipeline_joins" and planning.join == "pipelined" and made:
            found = made
        found = _promising(found + made, estimates)
    return Candidates(tuple(found), seconds)


def _allowed(plan: Node) -> tuple[str, ...]:
    """The alternatives that may be looked for.

    What is counted one by one (Wstream, INTERNAL windows) or was there between two slides (RESTORE) depends on how
    rows are made. The order of joins leaves that as it is; where negations and DISTINCT stand does not. The rows
    of a group's plan are marked with queries, which come and go after it is planned: it stays as it is.
    """
    joins, counts_rows = 0, False
    for node in walk(plan):
        match node:
            case Matched():
                return ()
            case Wstream() | Istream(restore=True) | Rstream(restore=True):
                counts_rows = True
            case Window() if node.spec.internal:
                counts_rows = True
            case Join() | SemiJoin() | AntiJoin() if node.time is None:
                joins += 1
    if not joins:
        return ()
    return ("pipeline_joins", "join_orders") if counts_rows else tuple(ALTERNATIVES)


def _by_setting(plan: Node, planning: Planning, clock: Clock) -> Alternative:
    """The plan with its negations where the setting wants them."""
    if planning.negation == "written":
        return Alternative(AS_WRITTEN, plan)
    name = f"negation {planning.negation}"
    result = checked(
        "place_negation",
        plan,
        lambda: [Alternative(name, negation_placed(plan, up=planning.negation == "up"))],
        clock,
    )
    return result.plans[0] if result.plans else Alternative(AS_WRITTEN, plan)


def _after(one: Alternative, other: Alternative) -> Alternative:
    return other if one.name == AS_WRITTEN else Alternative(f"{one.name}, {other.name}", other.plan)


def _promising(found: list[Alternative], estimates: Estimates) -> list[Alternative]:
    """The first one, and those that promise to cost least; of equal plans the first."""
    first, *others = {one.plan: one for one in reversed(found)}.values().__reversed__()
    others.sort(key=lambda one: logical_cost(one.plan, estimates))
    return [first, *others[: _MOST - 1]]
