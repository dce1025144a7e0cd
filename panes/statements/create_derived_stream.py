"""CREATE STREAM name AS SELECT …: a stream that a query over other streams defines."""

from __future__ import annotations

from panes.language import bind_stream
from panes.language.statements import CreateDerivedStream
from panes.statements.context import Context


def create_derived_stream(statement: CreateDerivedStream, context: Context) -> None:
    """Adds the definition once it binds. It runs as part of the queries that read it."""
    # Nothing that it reads is dropped meanwhile.
    with context.catalog.transaction():
        bind_stream(statement, context.catalog)
        context.catalog.create(statement)
