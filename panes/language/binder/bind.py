"""The way in: from a query to its plan."""

from __future__ import annotations

from panes.language.binder.bind_query import QueryBinder
from panes.language.binder.expansion import Expansion
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.places_of_now import place_of_now
from panes.language.guarded import guarded
from panes.language.positions import refuse
from panes.language.statements import CreateDerivedStream, CreateQuery, SelectQuery
from panes.plan.nodes import Node
from panes.plan.now import reads_now


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
        plan = QueryBinder(catalog, query.text, Expansion((statement.name,))).in_order(query.tree)
        _refuse_now(plan, query)
        return plan


def bind_stream(statement: CreateDerivedStream, catalog: KnownRelations) -> Node:
    """The plan of a derived stream, which must be one that only grows and not derived from itself."""
    query = statement.query
    with guarded(query.text):
        plan = QueryBinder(catalog, query.text, Expansion((statement.name,))).stream(query)
        _refuse_now(plan, query)
        return plan


def _refuse_now(plan: Node, query: SelectQuery) -> None:
    """In what runs all the time, `now()` only bounds times of rows: it moves on when no tuple comes."""
    if not reads_now(plan):
        return
    refuse(
        "now() moves on all the time, so in a standing query it only bounds a time of the rows",
        query.text, place_of_now(query.tree),
        "write it in WHERE or HAVING, as ts > now() - INTERVAL '5' MINUTE or ts + INTERVAL '1' HOUR <= now(); the "
        "instant of an answer is its as_of",
    )  # fmt: skip
