"""EXPLAIN: how a query runs, what its steps did (ANALYZE), and how else it could run (PLANS)."""

from __future__ import annotations

import json
from dataclasses import replace

from panes.language.statements import Explain
from panes.onetime.can_ask_once import why_not_once
from panes.plan.nodes import Node, Synopsis
from panes.plan.walk import is_table_only
from panes.stages.explain import Explained, explain, explain_json
from panes.stages.explain_plans import explain_plans, explain_plans_json
from panes.stages.physical_plan import Choice, PhysicalPlan
from panes.statements.context import Context
from panes.statements.kept_of_synopsis import kept_of_synopsis
from panes.statements.plan_query import plan_query
from panes.synopses.definition import group_by_of, predicates_of


def explain_query(statement: Explain, context: Context) -> str:
    """The physical plan, as text or JSON."""
    explained = _explained(statement, context)
    if statement.plans:
        return _plans(statement, explained)
    if statement.format == "JSON":
        return json.dumps(explain_json(explained), indent=2)
    return explain(explained)


def _plans(statement: Explain, explained: Explained) -> str:
    """The plans that were compared. A query that no epoch runs has none."""
    choice = explained.plan.choice if isinstance(explained.plan, PhysicalPlan) else Choice()
    if statement.format == "JSON":
        return json.dumps(explain_plans_json(choice), indent=2)
    return explain_plans(choice) if choice.candidates else "the query is computed by SQL when it is invoked"


def _explained(statement: Explain, context: Context) -> Explained:
    """Of a registered query what runs it, of another what would run it under the settings of now."""
    if not isinstance(statement.target, str):
        planned = plan_query(statement.target, context.catalog)
        return replace(
            context.registered.explained_plan(planned), answered_from=_answered_from(planned.plan, context)
        )
    measures = context.connection.measures if statement.analyze else None
    shown = context.registered.explained(statement.target, context.connection.log.latest(), measures)
    return replace(shown, signatures=_signatures(statement.target, shown, context))


def _signatures(name: str, shown: Explained, context: Context) -> int | None:
    node = shown.plan.plan if isinstance(shown.plan, PhysicalPlan) else None
    if not isinstance(node, Synopsis) or len(predicates_of(node)) == 1:
        return None
    return kept_of_synopsis(context.catalog.query(name).running, group_by_of(node), context).signatures


def _answered_from(plan: Node, context: Context) -> str:
    """Where the query finds its answer when it is asked once, as of the last epoch; empty when there is none yet,
    or when it cannot be asked."""
    if context.connection.log.last < 0 or is_table_only(plan) or why_not_once(plan) is not None:
        return ""
    return context.reads.answered_from(plan)
