"""CREATE … IF NOT EXISTS and CREATE OR REPLACE …: statements that can be run again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from panes.errors import CatalogError
from panes.language.statements import (
    AlterQueryAs,
    CreateAgain,
    CreateDerivedStream,
    CreateQuery,
    CreateStream,
    CreateTable,
    Drop,
    Statement,
    renamed,
)
from panes.statements.alter_query_as import alter_query_as
from panes.statements.context import Context
from panes.statements.create_derived_stream import create_derived_stream
from panes.statements.create_query import create_query
from panes.statements.create_stream import create_stream
from panes.statements.create_table import create_table
from panes.statements.readers_of import check_unread

CREATE: Mapping[type[Statement], Callable[[Any, Context], None]] = {
    CreateStream: create_stream,
    CreateDerivedStream: create_derived_stream,
    CreateTable: create_table,
    CreateQuery: create_query,
}


def create_again(statement: CreateAgain, context: Context) -> None:
    """Creates what is not there yet. What is there stays with IF NOT EXISTS, whatever its definition is; with OR
    REPLACE a query or a derived stream gets the new text.

    Raises CatalogError when the name is that of something else, or of a stream or table of another definition: it
    has rows, which only DROP removes.
    """
    new, catalog = statement.statement, context.catalog
    if not catalog.has(_kind_of(new), new.name):
        CREATE[type(new)](new, context)
    elif statement.otherwise == "OR REPLACE":
        _replace(new, context)


def _replace(new: CreateStream | CreateDerivedStream | CreateTable | CreateQuery, context: Context) -> None:
    if isinstance(new, CreateQuery):
        alter_query_as(AlterQueryAs(new.name, new.query), context, new.given)
        return
    with context.catalog.transaction():
        old = context.catalog.table(new.name) or context.catalog.stream(new.name)
        if old is None or renamed(new, old.name).sql == old.sql:
            return
        if not isinstance(old, CreateDerivedStream) or not isinstance(new, CreateDerivedStream):
            kind = _kind_of(old)
            raise CatalogError(
                f"{kind.lower()} {old.name!r} is there with another definition, which its rows are of; "
                f"{Drop(kind, old.name).sql} removes both, or choose another name"
            )
        check_unread(old.name, context.catalog)
        context.catalog.drop("STREAM", old.name)
        create_derived_stream(new, context)


def _kind_of(definition: Statement) -> Literal["QUERY", "STREAM", "TABLE"]:
    if isinstance(definition, CreateQuery):
        return "QUERY"
    return "TABLE" if isinstance(definition, CreateTable) else "STREAM"
