"""DROP QUERY, DROP STREAM and DROP TABLE."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.errors import CatalogError
from panes.language import parse
from panes.language.binder.names_read import names_read
from panes.language.statements import CreateDerivedStream, CreateStream, Drop, SelectQuery
from panes.statements.context import Context


def drop(statement: Drop, context: Context) -> None:
    """Removes a query with its state and readers, a stream with its history, or a table with all its versions."""
    if statement.if_exists and not context.catalog.has(statement.kind, statement.name):
        return
    if statement.kind == "QUERY":
        _drop_query(statement.name, context)
    elif statement.kind == "STREAM":
        _drop_stream(statement.name, context)
    else:
        _drop_table(statement.name, context)


def _drop_query(name: str, context: Context) -> None:
    dropped = context.registered.drop(name)
    context.answers.forget()
    context.connection.readers.forget_query(dropped)


def _drop_table(name: str, context: Context) -> None:
    with context.tables.lock:
        _check_unused(name, context.catalog)
        dropped = context.catalog.table(name)
        context.catalog.drop("TABLE", name)
        if dropped is not None:
            context.tables.forget(dropped)


def _drop_stream(name: str, context: Context) -> None:
    _check_unused(name, context.catalog)
    dropped = context.catalog.stream(name)
    context.runs.change_streams(lambda: context.catalog.drop("STREAM", name))
    if isinstance(dropped, CreateStream):
        context.engine.forget(dropped.stream)


def _check_unused(name: str, catalog: Catalog) -> None:
    """Nothing may be dropped while a query or a derived stream reads it."""
    readers = [
        (f"stream {stream.name!r}", stream.query)
        for stream in catalog.streams()
        if isinstance(stream, CreateDerivedStream)
    ]
    readers += [(f"query {query.name!r}", _parsed(query.sql)) for query in catalog.queries()]
    for reader, query in readers:
        if name.casefold() in names_read(query):
            raise CatalogError(f"{name!r} is read by {reader}; drop that first")


def _parsed(sql: str) -> SelectQuery:
    (statement,) = parse(sql)
    assert isinstance(statement, SelectQuery), sql
    return statement
