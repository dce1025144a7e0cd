"""ALTER QUERY name RESUME and REPLAN: a suspended query begins anew, a running one gets the plan of now."""

from __future__ import annotations

from panes.language.statements import AlterQuery
from panes.statements.context import Context


def alter_query(statement: AlterQuery, context: Context) -> None:
    """Lets the query begin with the next epoch, over what its streams keep; or chooses its plan anew, which takes
    over with the epochs that follow and changes nothing for those who read it."""
    if statement.action == "REPLAN":
        context.replanning.replan(statement.name, context.connection.log.latest())
    else:
        context.registered.resume(statement.name)
        context.answers.forget(statement.name)
