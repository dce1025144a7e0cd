"""ALTER QUERY, STREAM or TABLE name RENAME TO other."""

from __future__ import annotations

from panes.language.statements import Rename
from panes.statements.context import Context
from panes.statements.readers_of import check_unread


def rename(statement: Rename, context: Context) -> None:
    """Gives it another name; readers of changes and open `Query` objects go on.

    Raises CatalogError when a query or a derived stream reads it, because their texts name it.
    """

    def change() -> None:
        with context.catalog.transaction():
            check_unread(statement.name, context.catalog)
            context.catalog.rename(statement.kind, statement.name, statement.new_name)

    if statement.kind == "STREAM":
        context.runs.change_streams(change)
    elif statement.kind == "TABLE":
        with context.tables.lock:
            change()
    else:
        change()
        context.answers.forget(statement.name, statement.new_name)
        return
    # Answers of queries that are asked once are found by names, and another stream or table may get this one.
    context.answers.forget_all()
