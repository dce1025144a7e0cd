"""From the syntax tree of a query to its optimized logical plan."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.language import bind
from panes.language.positions import offset_of, refuse
from panes.language.statements import SelectQuery
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node, TableScan
from panes.plan.walk import walk


def plan_query(query: SelectQuery, catalog: Catalog) -> Node:
    """The plan of a query that is explained; it may read tables."""
    return optimize(bind(query, catalog))


def plan_query_to_run(query: SelectQuery, catalog: Catalog) -> Node:
    """The plan of a query that is registered or asked once. Raises SqlError for one that cannot run yet."""
    plan = plan_query(query, catalog)
    for node in walk(plan):
        if isinstance(node, TableScan):
            refuse(
                f"{node.table} is a table, and tables cannot hold rows yet",
                query.text,
                offset_of(query.tree),
                hint="EXPLAIN shows how the query would run",
            )
    return plan
