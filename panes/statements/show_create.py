"""SHOW CREATE STREAM, TABLE or QUERY: the statements that make it, with its comments."""

from __future__ import annotations

from panes.language.statements import CommentOn, ShowCreate
from panes.statements.context import Context
from panes.statements.known_object import known_object_of


def show_create(statement: ShowCreate, context: Context) -> str:
    """Statements that can be run again: the definition, and one for each comment."""
    found = known_object_of(statement.kind, statement.name, context)
    comments = context.catalog.comments.of(found.name)
    statements = [found.sql]
    for column in (None, *found.columns.names):
        if column in comments:
            kind = found.kind if column is None else "COLUMN"
            statements.append(CommentOn(kind, found.name, column, comments[column]).sql)
    return ";\n".join(statements)
