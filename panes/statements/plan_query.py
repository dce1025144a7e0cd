"""From the syntax tree of a query to its optimized logical plan."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.language import bind
from panes.language.positions import offset_of, refuse
from panes.language.statements import SelectQuery
from panes.optimizer.optimizer import Rewritten, rewritten
from panes.optimizer.planning import rules_in
from panes.plan.nodes import Node
from panes.plan.walk import is_table_only, tables_of


def plan_query(query: SelectQuery, catalog: Catalog) -> Rewritten:
    """The plan of a query that is asked once, or explained, and the rules that made it."""
    return rewritten(bind(query, catalog), rules_in(str(catalog.setting("rules_off"))))


def plan_query_to_register(query: SelectQuery, catalog: Catalog) -> Rewritten:
    """The plan of a query that is registered. Raises SqlError for one that no stream feeds."""
    planned = plan_query(query, catalog)
    check_fed(planned.plan, query)
    return planned


def check_fed(plan: Node, query: SelectQuery) -> None:
    """Raises SqlError for the plan of a query that no stream feeds."""
    if is_table_only(plan):
        tables = " and ".join(sorted(tables_of(plan)))
        read = f"tables alone ({tables})" if tables else "constants alone"
        refuse(
            f"the query reads {read}, and a registered query follows streams",
            query.text,
            offset_of(query.tree),
            hint="ask it once, without CREATE QUERY: the answer has all changes up to now",
        )
