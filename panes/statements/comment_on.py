"""COMMENT ON STREAM, TABLE, QUERY or COLUMN … IS 'text'."""

from __future__ import annotations

from panes.errors import CatalogError
from panes.language.names import same
from panes.language.positions import did_you_mean
from panes.language.statements import CommentOn
from panes.statements.context import Context
from panes.statements.known_object import known_object, known_object_of


def comment_on(statement: CommentOn, context: Context) -> None:
    """Notes the comment in the catalog; it goes with what it is about."""
    if statement.kind != "COLUMN":
        found = known_object_of(statement.kind, statement.name, context)
        context.catalog.comments.set(found.name, None, statement.comment)
        return
    found = known_object(statement.name, context)
    written = statement.column or ""
    column = next((name for name in found.columns.names if same(name, written)), None)
    if column is None:
        hint = did_you_mean(written, list(found.columns.names))
        raise CatalogError(f"{found.name} has no column named {written!r}; {hint}")
    context.catalog.comments.set(found.name, column, statement.comment)
