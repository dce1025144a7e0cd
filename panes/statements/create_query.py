"""CREATE QUERY name WITH (…) AS SELECT …: registers a standing query."""

from __future__ import annotations

from itertools import count

from panes.catalog import Catalog
from panes.errors import CatalogError, SqlError
from panes.language import Parameters, parse
from panes.language.names import why_no_name
from panes.language.statements import CreateAgain, CreateQuery, SelectQuery
from panes.optimizer.rule_names import check_rule_names
from panes.statements.context import Context
from panes.statements.plan_query import plan_query_to_register, with_index_columns


def create_query(statement: CreateQuery, context: Context) -> None:
    """Registers the query; it begins with the next epoch. SettingError where a rule of `rules_off` does not
    exist."""
    given, catalog = statement.given, context.catalog
    check_rule_names(str(given.get("rules_off", "")))
    # Nothing that it reads is dropped meanwhile.
    with catalog.transaction():
        planned = plan_query_to_register(statement, catalog, catalog.query_settings(given))
        context.registered.add(with_index_columns(statement, planned.plan), planned)


def create_query_from(
    text: str,
    name: str | None,
    catalog: Catalog,
    parameters: Parameters | None = None,
    *,
    replace: bool = False,
) -> CreateQuery | CreateAgain:
    """The statement that registers a query given as SELECT, under `name` or a free one, or as CREATE QUERY; with
    `replace`, the one that gives a query of that name the new text."""
    match parse(text, parameters):
        case [SelectQuery() as select]:
            if name is not None:
                _check_name(name)
            statement = CreateQuery(_free_name(catalog) if name is None else name, select)
            return CreateAgain(statement, "OR REPLACE") if replace else statement
        case [CreateQuery() as statement]:
            return CreateAgain(statement, "OR REPLACE") if replace else statement
        case [CreateAgain(statement=CreateQuery()) as again]:
            return again
        case _:
            raise SqlError("register takes one query: SELECT … FROM …", sql=text)


def _free_name(catalog: Catalog) -> str:
    numbers = count(catalog.marks.next_number)
    return next(name for number in numbers if not catalog.is_taken(name := f"query_{number}"))


def _check_name(name: object) -> None:
    problem = why_no_name(name) if isinstance(name, str) else f"it is of type {type(name).__name__}"
    if problem is not None:
        raise CatalogError(f"{name!r:.80} cannot be the name of a query: {problem}")
