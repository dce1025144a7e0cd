"""What a name means: a stream, a table or a registered query, with its columns."""

from __future__ import annotations

from dataclasses import dataclass

from panes.errors import CatalogError
from panes.language import bind_stream
from panes.language.positions import did_you_mean
from panes.language.statements import CreateDerivedStream, Kind
from panes.plan.nodes import Node
from panes.plan.schema import Schema
from panes.statements.context import Context


@dataclass(frozen=True)
class KnownObject:
    kind: Kind
    name: str
    """As it was created."""
    sql: str
    """The statement that makes it."""
    columns: Schema
    plan: Node | None = None
    """What computes it; None for base streams and tables."""


def known_object(name: str, context: Context) -> KnownObject:
    """Raises CatalogError when nothing has the name."""
    catalog = context.catalog
    table = catalog.table(name)
    if table is not None:
        return KnownObject("TABLE", table.name, table.sql, table.columns)
    stream = catalog.stream(name)
    if isinstance(stream, CreateDerivedStream):
        plan = bind_stream(stream, catalog)
        return KnownObject("STREAM", stream.name, stream.sql, plan.schema, plan)
    if stream is not None:
        return KnownObject("STREAM", stream.name, stream.sql, stream.columns)
    query = catalog.registered(name)
    if query is not None:
        plan = context.registered.plan_of(catalog.query(name))
        return KnownObject("QUERY", query.name, query.sql, plan.schema, plan)
    hint = did_you_mean(name, list(catalog.names()))
    raise CatalogError(f"there is no stream, table or query named {name!r}" + (f"; {hint}" if hint else ""))


def known_object_of(kind: Kind, name: str, context: Context) -> KnownObject:
    """Raises CatalogError when nothing of that kind has the name."""
    found = known_object(name, context)
    if found.kind != kind:
        raise CatalogError(f"{found.name!r} is a {found.kind.lower()}, not a {kind.lower()}")
    return found
