"""ALTER QUERY name AS SELECT …: a registered query gets another text, and keeps its name and its settings."""

from __future__ import annotations

from panes.catalog import QueryRecord
from panes.errors import CatalogError, PanesError
from panes.language import bind_query, bind_stream
from panes.language.statements import AlterQueryAs, CreateDerivedStream, CreateQuery
from panes.optimizer.optimizer import Rewritten, rewritten
from panes.optimizer.planning import rules_in
from panes.statements.context import Context
from panes.statements.plan_query import check_fed
from panes.statements.readers_of import all_readers_of, said


def alter_query_as(statement: AlterQueryAs, context: Context) -> None:
    """Lets the query, and all that read it, begin anew with the next epoch, over what its streams keep.

    Nothing happens when it has that text already. Raises SqlError when the text is not understood, and
    CatalogError when one that reads the query would not be; then nothing has changed.
    """
    catalog = context.catalog
    with catalog.transaction():
        record = catalog.query(statement.name)
        if statement.query.sql == record.sql:
            return
        readers = all_readers_of(record.name, catalog)
        catalog.set_text(record.id, statement.query.sql)
        altered = CreateQuery(record.name, statement.query)
        planned = rewritten(bind_query(altered, catalog), rules_in(record.settings.rules_off))
        check_fed(planned.plan, statement.query)
        plans = [(record, planned)]
        for reader in readers:
            plans += _planned(reader, record, context)
        context.registered.alter(plans)
        for old, planned in plans:
            catalog.keep_comments(old.name, planned.plan.schema.names)
    context.answers.forget()
    for old, _ in plans:
        context.connection.readers.tell_gone(old.id)


def _planned(
    reader: CreateDerivedStream | CreateQuery, altered: QueryRecord, context: Context
) -> list[tuple[QueryRecord, Rewritten]]:
    """A query that reads the altered one, with its new plan; nothing for a derived stream, which has to bind."""
    try:
        if isinstance(reader, CreateDerivedStream):
            bind_stream(reader, context.catalog)
            return []
        record = context.catalog.query(reader.name)
        rules_off = rules_in(record.settings.rules_off)
        return [(record, rewritten(bind_query(reader, context.catalog), rules_off))]
    except PanesError as error:
        problem = getattr(error, "problem", str(error))
        raise CatalogError(
            f"{said(reader)} reads {altered.name!r}, and cannot with the new text: {problem}; drop it first"
        ) from error
