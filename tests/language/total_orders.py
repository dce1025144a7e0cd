"""Queries for DuckDB whose orders are total, as those of Panes are: ties go by all columns."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
from sqlglot import exp

from panes.language.parser.syntax import SelectBlock, Sorted


def with_total_orders(
    tree: exp.Expression, connection: duckdb.DuckDBPyConnection, text_of: Callable[[exp.Expression], str]
) -> exp.Expression:
    """The query with all columns after the keys of each ORDER BY, LIMIT and DISTINCT ON; `text_of` gives the text
    of a query for DuckDB."""
    whole = exp.Paren(this=tree.copy())
    for block in list(whole.find_all(SelectBlock)):
        if block.args.get("distinct_on") and not isinstance(block.parent, Sorted):
            block.replace(Sorted(this=block.copy()))
    for node in reversed(list(whole.find_all(Sorted))):
        keys = node.args.get("order") or []
        if any(isinstance(key.this, exp.Var) for key in keys):  # ORDER BY ALL is total
            continue
        try:
            columns = len(connection.execute(f"DESCRIBE {text_of(node.this)}").fetchall())
        except duckdb.BinderException:  # it reads the query around it, which asks for nothing but a row
            continue
        places = [exp.Ordered(this=exp.Literal.number(place + 1)) for place in range(columns)]
        node.set("order", [*keys, *places])
    return whole.this
