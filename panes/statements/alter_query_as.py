"""ALTER QUERY name AS SELECT …: a registered query gets another text, and keeps its name and its settings."""

from __future__ import annotations

from collections.abc import Mapping

from panes.catalog import QueryRecord
from panes.errors import CatalogError, PanesError
from panes.language import bind_stream
from panes.language.statements import AlterQueryAs, CreateDerivedStream, CreateQuery
from panes.optimizer.optimizer import Rewritten
from panes.optimizer.rule_names import check_rule_names
from panes.plan.stream import OptionValue
from panes.statements.context import Context
from panes.statements.plan_query import plan_query_to_register, with_index_columns
from panes.statements.readers_of import all_readers_of, said


def alter_query_as(
    statement: AlterQueryAs, context: Context, given: Mapping[str, OptionValue] | None = None
) -> None:
    """Lets the query, and all that read it, begin anew with the next epoch, over what its streams keep.

    `given` are the settings that it has for itself from now on, of which those it had and has no longer become
    those of the database; None: it keeps its settings. Nothing happens when it has that text and these settings
    already. Raises SqlError when the text is not understood, and CatalogError when one that reads the query would
    not be; then nothing has changed.
    """
    catalog = context.catalog
    with catalog.transaction():
        record = catalog.query(statement.name)
        own = {name: getattr(record.settings, name) for name in record.given}
        if given is None:
            given = own
        if statement.query.sql == record.sql and given == own:
            return
        check_rule_names(str(given.get("rules_off", "")))
        now = catalog.query_settings(given)
        settings = record.settings._replace(**{name: getattr(now, name) for name in {**own, **given}})
        readers = all_readers_of(record.name, catalog)
        catalog.set_text(record.origin, statement.query.sql)
        altered = CreateQuery.of_given(record.name, statement.query, given)
        planned = plan_query_to_register(altered, catalog, settings)
        index_by = str(with_index_columns(altered, planned.plan).given.get("index_by", ""))
        catalog.set_settings(record.origin, settings._replace(index_by=index_by), tuple(given))
        plans = [(record, planned)]
        for reader in readers:
            plans += _planned(reader, record, context)
        context.registered.alter(plans)
        for old, planned in plans:
            catalog.comments.keep(old.name, planned.plan.schema.names)
    context.answers.forget(*(old.name for old, _ in plans))
    for old, _ in plans:
        context.connection.readers.tell_gone(old.id, old.origin)


def _planned(
    reader: CreateDerivedStream | CreateQuery, altered: QueryRecord, context: Context
) -> list[tuple[QueryRecord, Rewritten]]:
    """A query that reads the altered one, with its new plan; nothing for a derived stream, which has to bind."""
    try:
        if isinstance(reader, CreateDerivedStream):
            bind_stream(reader, context.catalog)
            return []
        record = context.catalog.query(reader.name)
        return [(record, plan_query_to_register(reader, context.catalog, record.settings))]
    except PanesError as error:
        problem = getattr(error, "problem", str(error))
        raise CatalogError(
            f"{said(reader)} reads {altered.name!r}, and cannot with the new text: {problem}; drop it first"
        ) from error
