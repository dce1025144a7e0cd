"""Which functions a query calls."""

from __future__ import annotations

from sqlglot import exp

from panes.language.statements import SelectQuery


def functions_called(query: SelectQuery) -> frozenset[str]:
    """The names of functions at any depth, as they were read: in small letters."""
    return frozenset(call.name for call in query.tree.find_all(exp.Anonymous))
