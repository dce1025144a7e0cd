"""INVOKE name: the current answer of a registered query."""

from __future__ import annotations

from panes.answers.answer import Answer
from panes.language.statements import Invoke
from panes.statements.context import Context


def invoke_query(statement: Invoke, context: Context) -> Answer:
    """The answer as of the last committed epoch, or as it was at an instant."""
    return context.answers.invoke(statement.name, context.as_of)
