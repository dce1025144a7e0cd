"""ALTER QUERY name RESUME: a suspended query begins anew."""

from __future__ import annotations

from panes.language.statements import AlterQuery
from panes.statements.context import Context


def alter_query(statement: AlterQuery, context: Context) -> None:
    """Lets the query begin with the next epoch, over what its streams keep."""
    context.registered.resume(statement.name)
    context.answers.forget()
