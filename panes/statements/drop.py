"""DROP QUERY, DROP STREAM and DROP TABLE."""

from __future__ import annotations

from panes.language.statements import CreateStream, Drop
from panes.statements.context import Context
from panes.statements.readers_of import check_unread


def drop(statement: Drop, context: Context) -> None:
    """Removes a query with its state and readers, a stream with its history, or a table with all its versions.

    Raises CatalogError when a query or a derived stream reads it.
    """
    if statement.if_exists and not context.catalog.has(statement.kind, statement.name):
        return
    if statement.kind == "QUERY":
        _drop_query(statement.name, context)
    elif statement.kind == "STREAM":
        _drop_stream(statement.name, context)
    else:
        _drop_table(statement.name, context)


def _drop_query(name: str, context: Context) -> None:
    with context.catalog.transaction():
        check_unread(name, context.catalog)
        dropped = context.registered.drop(name)
    context.answers.forget(name)
    context.connection.readers.forget_query(dropped.id, dropped.origin)


def _drop_table(name: str, context: Context) -> None:
    with context.tables.lock, context.catalog.transaction():
        check_unread(name, context.catalog)
        dropped = context.catalog.table(name)
        context.catalog.drop("TABLE", name)
        if dropped is not None:
            context.tables.forget(dropped)
    context.answers.forget_all()


def _drop_stream(name: str, context: Context) -> None:
    # Before the run is stopped for it; and again, because a query may be registered meanwhile.
    check_unread(name, context.catalog)
    dropped = context.catalog.stream(name)

    def remove() -> None:
        with context.catalog.transaction():
            check_unread(name, context.catalog)
            context.catalog.drop("STREAM", name)

    context.runs.change_streams(remove)
    context.answers.forget_all()
    if isinstance(dropped, CreateStream):
        context.engine.stores.forget(dropped.stream)
