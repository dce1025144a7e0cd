"""What the ways to have the answer of a query would cost, by the rates that were measured."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from math import log2

from panes.catalog import Catalog
from panes.config import LAZY
from panes.history.retention import needed
from panes.optimizer.answer_costs import READ_SUMS, READ_TUPLES, AnswerCosts, ReadRows, answer_costs
from panes.optimizer.cost import PlanCost, plan_cost
from panes.optimizer.estimates import Estimates
from panes.optimizer.optimizer import Rewritten
from panes.optimizer.statistics import Statistics
from panes.plan.nodes import GroupBy, Join, JoinSynopsis, MatchedPairs, Node, Synopsis, Timed
from panes.plan.own_calls import own_calls
from panes.plan.stated_error import stated_error
from panes.plan.walk import streams_of, walk
from panes.possible_answers import possible_answers, sharable
from panes.query_settings import QuerySettings
from panes.sharing.template import Template, templates_of
from panes.stored_plans import StoredPlans, sheds
from panes.synopses.definition import panes_of


def fact_of_query(origin: int) -> str:
    """The name of the fact that says how often a query is invoked, by the id under which it was registered."""
    return f"query {origin}"


def fact_of_shape(plan: Node) -> str:
    """The name of the fact that says how often queries like this one are invoked: those that are equal up to the
    constants of their selections, or that are equal where nothing can be shared."""
    found = templates_of(plan)
    key = found[0].key if found else hashlib.sha256(repr(plan).encode()).hexdigest()[:16]
    return f"shape {key}"


class AnswerWays:
    """Puts the rates, the plans and the costs of a query together."""

    def __init__(self, catalog: Catalog, physical: StoredPlans, statistics: Callable[[], Statistics]) -> None:
        self._catalog = catalog
        self._physical = physical
        self._statistics = statistics

    def costs(
        self,
        planned: Rewritten,
        settings: QuerySettings,
        origin: int | None = None,
        *,
        is_member: bool = False,
    ) -> AnswerCosts | None:
        """What each way costs that a query can have; None while nobody knows how often it is invoked, and where
        answers are not the same in all ways. `origin` is the id of a registered query, `is_member` says whether
        it is one of those that share the store already."""
        plan, statistics = planned.plan, self._statistics()
        invocations = self._invocations(plan, statistics, origin)
        if invocations is None or sheds(plan, settings) or _is_its_own(plan):
            return None
        as_lazy = settings._replace(answers=LAZY)
        possible = possible_answers(plan, as_lazy, self._catalog)
        template = None if possible.why_not_lazy else sharable(plan, as_lazy, self._catalog)
        estimates = Estimates(statistics)
        sharing = 1
        if template is not None:
            sharing = self._catalog.sharing(template.key) + (0 if is_member else 1)
        return answer_costs(
            statistics,
            invocations,
            sum(statistics.rate(stream) for stream in streams_of(plan)),
            _rows(plan, template, estimates),
            eager=None if possible.why_not_eager else self._cost(planned, settings, statistics),
            store=None if template is None else self._store_cost(template, planned, settings, statistics),
            sharing=max(1, sharing),
            can_ask=possible.why_not_none is None,
        )

    def _invocations(self, plan: Node, statistics: Statistics, origin: int | None) -> float | None:
        own = None if origin is None else statistics.measured("invocations", fact_of_query(origin))
        return statistics.measured("invocations", fact_of_shape(plan)) if own is None else own

    def _store_cost(
        self, template: Template, planned: Rewritten, settings: QuerySettings, statistics: Statistics
    ) -> PlanCost:
        return self._cost(Rewritten(template.plan, planned.applied), settings, statistics)

    def _cost(self, planned: Rewritten, settings: QuerySettings, statistics: Statistics) -> PlanCost:
        shards = self._catalog.marks.cores or 1
        return plan_cost(self._physical.under(settings, planned), statistics, shards=shards)


def _is_its_own(plan: Node) -> bool:
    """Whether a standing query computes something else than one that is asked once, or may fail in one way and not
    in another."""
    group_bys = [node for node in walk(plan) if isinstance(node, GroupBy)]
    is_estimated = any(stated_error(node, a) is not None for node in group_bys for a in node.aggregates)
    return is_estimated or bool(own_calls(plan))


def _rows(plan: Node, template: Template | None, estimates: Estimates) -> ReadRows:
    """How many rows an invocation reads in each way."""
    history = 0.0
    for stream in streams_of(plan):
        held = needed(plan, stream)
        history += estimates.statistics.rate(stream) * (held.us or 0) / 1e6 + held.rows
    answer = estimates.of(plan).size
    # What is asked once goes over the results of every join on the way.
    joined = sum(estimates.of(node).size for node in walk(plan) if isinstance(node, Join))
    has_sums = template is not None and isinstance(template.plan, (Synopsis, JoinSynopsis, Timed))
    return ReadRows(
        answer,
        _store_rows(plan, template, answer, history, estimates),
        history + joined,
        READ_SUMS if has_sums else READ_TUPLES,
    )


def _store_rows(
    plan: Node, template: Template | None, answer: float, history: float, estimates: Estimates
) -> float:
    """Tuples one by one, or partial rows by pane or cell; of ranked trees a branch for each group."""
    store = None if template is None else template.plan
    group_by = next((node for node in walk(plan) if isinstance(node, GroupBy)), None)
    groups = answer if group_by is None else estimates.of(group_by).size
    match store:
        case Synopsis():
            return min(history, groups * panes_of(store))
        case JoinSynopsis() if group_by is not None:
            return estimates.of(group_by.child).size
        case MatchedPairs():
            return answer
        case Timed():
            return groups * log2(history + 2)
    return history
