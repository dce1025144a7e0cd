"""SELECT …: a query that is asked once."""

from __future__ import annotations

from panes.answers.answer import Answer
from panes.language.positions import offset_of, refuse
from panes.language.statements import SelectQuery
from panes.plan.nodes import Node
from panes.statements.context import Context
from panes.statements.plan_query import plan_query


def select_once(query: SelectQuery, context: Context) -> Answer:
    """The answer over the windows of the epoch that the isolation level says, or as it was at an instant; over
    tables alone, over what they hold now. Raises SqlError when it cannot be asked once."""

    def planned() -> Node:
        plan = plan_query(query, context.catalog).plan
        why_not = context.one_time.why_not(plan)
        if why_not is not None:
            refuse(why_not.reason, query.text, offset_of(query.tree), hint=why_not.hint)
        return plan

    def answer() -> Answer:
        # To plan a query takes longer than to give many an answer, and epochs run in the same interpreter.
        plan = context.answers.current.step(planned)
        return context.reads.select(plan, context.as_of, isolation=context.isolation, epoch=context.epoch)

    return context.connection.read(answer)
