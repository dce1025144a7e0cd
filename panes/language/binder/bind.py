"""The way in: from a query to its plan."""

from __future__ import annotations

from panes.language.binder.bind_query import QueryBinder
from panes.language.binder.expansion import Expansion
from panes.language.binder.known_relations import KnownRelations
from panes.language.guarded import guarded
from panes.language.statements import CreateDerivedStream, CreateQuery, SelectQuery
from panes.plan.nodes import Node


def bind(query: SelectQuery, catalog: KnownRelations) -> Node:
    """The logical plan of a query, with the order in which its answer is read at the top.

    SqlError, with the place in the text, when it has none.
    """
    with guarded(query.text):
        return QueryBinder(catalog, query.text).in_order(query.tree)


def bind_query(statement: CreateQuery, catalog: KnownRelations) -> Node:
    """The plan of a registered query, which must not read itself, neither directly nor through others."""
    query = statement.query
    with guarded(query.text):
        return QueryBinder(catalog, query.text, Expansion((statement.name,))).in_order(query.tree)


def bind_stream(statement: CreateDerivedStream, catalog: KnownRelations) -> Node:
    """The plan of a derived stream, which must be one that only grows and not derived from itself."""
    query = statement.query
    with guarded(query.text):
        return QueryBinder(catalog, query.text, Expansion((statement.name,))).stream(query)
