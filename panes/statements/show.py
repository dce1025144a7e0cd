"""SHOW QUERIES, STREAMS, TABLES or SETTINGS."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.config import SETTINGS
from panes.language.statements import Show
from panes.statements.context import Context


def show(statement: Show, context: Context) -> pa.Table:
    """A table of texts: the names, and what there is to say of each."""
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
            tables = catalog.tables()
            return _texts(name=[table.name for table in tables], sql=[table.sql for table in tables])
        case "SETTINGS":
            values = {name: str(catalog.setting(name)) for name in SETTINGS}
            return _texts(name=list(values), value=list(values.values()))


def _texts(**columns: Sequence[str | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
