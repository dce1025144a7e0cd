"""Which streams, tables and queries a query names."""

from __future__ import annotations

from sqlglot import exp

from panes.language.parser.syntax import FromItem
from panes.language.statements import SelectQuery


def names_read(query: SelectQuery) -> frozenset[str]:
    """The names in FROM clauses at any depth, case folded.

    What stands behind derived streams and queries is not among them.
    """
    items = (item.this for item in query.tree.find_all(FromItem))
    return frozenset(name.name.casefold() for name in items if isinstance(name, exp.Identifier))
