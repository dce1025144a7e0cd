"""The way in: from a query to its plan."""

from __future__ import annotations

from collections.abc import Callable

from panes.errors import SqlError
from panes.language.binder.bind_query import QueryBinder
from panes.language.binder.known_relations import KnownRelations
from panes.language.statements import CreateDerivedStream, SelectQuery
from panes.plan.nodes import Node


def bind(query: SelectQuery, catalog: KnownRelations) -> Node:
    """The logical plan of a query. SqlError, with the place in the text, when it has none."""
    return _guarded(query, lambda: QueryBinder(catalog, query.text).query(query.tree))


def bind_stream(statement: CreateDerivedStream, catalog: KnownRelations) -> Node:
    """The plan of a derived stream, which must be one that only grows and not derived from itself."""
    query = statement.query
    return _guarded(query, lambda: QueryBinder(catalog, query.text).derived(statement.name, query))


def _guarded(query: SelectQuery, work: Callable[[], Node]) -> Node:
    try:
        return work()
    except RecursionError as error:
        raise SqlError("this is nested too deep", sql=query.text, hint="split the statement") from error
    except ValueError as error:
        # The binder checks before it builds; what it overlooks is still refused, only less exactly placed.
        raise SqlError(str(error), sql=query.text) from error
