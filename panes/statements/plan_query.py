"""From the syntax tree of a query to its optimized logical plan."""

from __future__ import annotations

from dataclasses import replace

from panes.catalog import Catalog
from panes.config import AUTO
from panes.language import bind, bind_query
from panes.language.names import same
from panes.language.positions import did_you_mean, offset_of, refuse, with_article
from panes.language.statements import CreateQuery, SelectQuery
from panes.optimizer.optimizer import Rewritten, rewritten
from panes.optimizer.planning import rules_in
from panes.plan.begin_end import is_begin_end
from panes.plan.nodes import Node
from panes.plan.sheddable import why_not_sheddable
from panes.plan.walk import is_table_only, tables_of
from panes.query_settings import QuerySettings


def plan_query(query: SelectQuery, catalog: Catalog) -> Rewritten:
    """The plan of a query that is asked once, or explained, and the rules that made it."""
    return rewritten(bind(query, catalog), rules_in(str(catalog.setting("rules_off"))))


def plan_query_to_register(statement: CreateQuery, catalog: Catalog, settings: QuerySettings) -> Rewritten:
    """The plan of a query that is registered, or gets another text, under its settings. Raises SqlError for one
    that no stream feeds, and for one that is to shed and cannot."""
    planned = rewritten(bind_query(statement, catalog), rules_in(settings.rules_off))
    _check_fed(planned.plan, statement.query)
    if dict(statement.settings).get("shed") == AUTO:
        _check_sheddable(planned.plan, statement.query)
    if statement.index and is_begin_end(planned.plan):
        refuse(
            "INDEX BY is for answers that are kept; one with a BEGIN … END window is computed when it is read",
            statement.query.text,
            statement.index_at,
        )
    return planned


def with_index_columns(statement: CreateQuery, plan: Node) -> CreateQuery:
    """The statement with the columns of INDEX BY as the answer names them. Raises SqlError for those that it does
    not have, or that have no order."""
    return replace(statement, index=tuple(_index_column(name, plan, statement) for name in statement.index))


def _index_column(name: str, plan: Node, statement: CreateQuery) -> str:
    text, at = statement.query.text, statement.index_at
    found = [field for field in plan.schema if same(field.name, name)]
    if not found:
        hint = did_you_mean(name, list(plan.schema.names))
        refuse(f"INDEX BY {name}: the answer has no column of that name", text, at, hint)
    if found[0].type.is_nested:
        refuse(f"INDEX BY {name}: the column is {with_article(found[0].type)}, which has no order", text, at)
    return found[0].name


def _check_sheddable(plan: Node, query: SelectQuery) -> None:
    """Raises SqlError for the plan of a query for which no rows may be dropped."""
    reason = why_not_sheddable(plan)
    if reason is not None:
        refuse(
            f"rows cannot be dropped for the query: {reason}",
            query.text,
            offset_of(query.tree),
            hint="leave out shed = 'auto': its answers stay exact",
        )


def _check_fed(plan: Node, query: SelectQuery) -> None:
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
