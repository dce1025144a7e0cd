"""EXPLAIN name, and EXPLAIN SELECT …: how a query runs."""

from __future__ import annotations

import json

from panes.language.statements import Explain
from panes.plan.explain import explain, explain_json
from panes.plan.nodes import Node
from panes.plan.patterns import Pattern
from panes.state.buffers.choose import kind_of_buffer
from panes.statements.context import Context
from panes.statements.plan_query import plan_query


def explain_query(statement: Explain, context: Context) -> str:
    """The plan with the update pattern of every edge and the buffers of the strategy, as text or JSON."""
    plan, strategy = _plan_and_strategy(statement, context)

    def choose(pattern: Pattern) -> str:
        return kind_of_buffer(pattern, strategy)

    if statement.format == "JSON":
        return json.dumps(explain_json(plan, choose), indent=2)
    return explain(plan, choose)


def _plan_and_strategy(statement: Explain, context: Context) -> tuple[Node, str]:
    """Of a registered query with the strategy that it was registered under, of another with that of now."""
    if isinstance(statement.target, str):
        record = context.catalog.query(statement.target)
        return context.registered.plan_of(record), record.strategy
    return plan_query(statement.target, context.catalog), str(context.catalog.setting("strategy"))
