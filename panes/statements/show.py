"""SHOW QUERIES, STREAMS, TABLES, FUNCTIONS, SETTINGS, STATISTICS, SYNOPSES: all, or those that match a pattern."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from panes.catalog import QueryRecord
from panes.config import AUTO, NEVER, SETTINGS
from panes.language.definition_text import column_text
from panes.language.statements import CreateTable, Show
from panes.plan.kept_text import kept_text
from panes.state.storage.epoch_log import EpochRecord
from panes.statements.context import Context
from panes.statements.show_statistics import show_statistics
from panes.statements.show_synopses import show_synopses


def show(statement: Show, context: Context) -> pa.Table:
    """A table: the names, and what there is to say of each."""
    shown = _all(statement, context)
    if statement.like is None:
        return shown
    return shown.filter(pc.match_like(shown.column("name"), statement.like, ignore_case=True))


def _all(statement: Show, context: Context) -> pa.Table:
    catalog = context.catalog
    match statement.kind:
        case "QUERIES":
            queries, latest = catalog.queries(), context.connection.log.latest()
            return _texts(
                name=[query.name for query in queries],
                sql=[query.sql for query in queries],
                shed=[_shed(query, latest, context) for query in queries],
                error=[query.error for query in queries],
                comment=_comments([query.name for query in queries], context),
            )
        case "STREAMS":
            streams = catalog.streams()
            return _texts(
                name=[stream.name for stream in streams],
                sql=[stream.sql for stream in streams],
                comment=_comments([stream.name for stream in streams], context),
            )
        case "TABLES":
            return _tables(context)
        case "FUNCTIONS":
            functions = catalog.functions().values()
            return _texts(name=[f.name for f in functions], sql=[f.sql for f in functions])
        case "STATISTICS":
            return show_statistics(context)
        case "SYNOPSES":
            return show_synopses(context)
        case "SETTINGS":
            values = {name: str(catalog.setting(name)) for name in SETTINGS}
            return _texts(name=list(values), value=list(values.values()))


def _shed(query: QueryRecord, latest: EpochRecord | None, context: Context) -> str:
    """Whether rows are dropped for a query: the shares that are kept now where they are, or why they never are."""
    if query.settings.shed == NEVER:
        return NEVER
    reason = context.registered.why_not_shed(query)
    if reason is not None:
        return f"{NEVER}: {reason}"
    kept = context.registered.kept_now(query, latest)
    texts = [kept_text(stream, share) for stream, share in kept.items() if share < 1]
    return f"keeps {', '.join(texts)}" if texts else AUTO


def _tables(context: Context) -> pa.Table:
    tables, counts = context.catalog.tables(), context.tables.counts()
    tables = [table for table in tables if table.name in counts]
    shown = _texts(
        name=[table.name for table in tables],
        kind=["RETROACTIVE" if table.retroactive else "NON RETROACTIVE" for table in tables],
        primary_key=[", ".join(table.primary_key) or None for table in tables],
        columns=[_columns(table) for table in tables],
        comment=_comments([table.name for table in tables], context),
    )
    return shown.add_column(1, "rows", pa.array([counts[table.name] for table in tables], pa.int64()))


def _columns(table: CreateTable) -> str:
    defaults = {default.column: default.canonical for default in table.defaults}
    return ", ".join(column_text(f, table.not_null, defaults) for f in table.columns)


def _comments(names: Sequence[str], context: Context) -> list[str | None]:
    comments = context.catalog.comments.of_objects()
    return [comments.get(name.casefold()) for name in names]


def _texts(**columns: Sequence[str | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
