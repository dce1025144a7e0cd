"""SHOW QUERIES, STREAMS, TABLES or SETTINGS."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.config import SETTINGS
from panes.language.statements import CreateTable, Show, column_text
from panes.statements.context import Context


def show(statement: Show, context: Context) -> pa.Table:
    """A table: the names, and what there is to say of each."""
    catalog = context.catalog
    match statement.kind:
        case "QUERIES":
            queries = catalog.queries()
            return _texts(
                name=[query.name for query in queries],
                sql=[query.sql for query in queries],
                error=[query.error for query in queries],
            )
        case "STREAMS":
            streams = catalog.streams()
            return _texts(name=[stream.name for stream in streams], sql=[stream.sql for stream in streams])
        case "TABLES":
            return _tables(context)
        case "SETTINGS":
            values = {name: str(catalog.setting(name)) for name in SETTINGS}
            return _texts(name=list(values), value=list(values.values()))


def _tables(context: Context) -> pa.Table:
    tables, counts = context.catalog.tables(), context.tables.counts()
    tables = [table for table in tables if table.name in counts]
    shown = _texts(
        name=[table.name for table in tables],
        kind=["RETROACTIVE" if table.retroactive else "NON RETROACTIVE" for table in tables],
        primary_key=[", ".join(table.primary_key) or None for table in tables],
        columns=[_columns(table) for table in tables],
    )
    return shown.add_column(1, "rows", pa.array([counts[table.name] for table in tables], pa.int64()))


def _columns(table: CreateTable) -> str:
    defaults = {default.column: default.canonical for default in table.defaults}
    return ", ".join(column_text(f, table.not_null, defaults) for f in table.columns)


def _texts(**columns: Sequence[str | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
