"""INSERT INTO a stream: the rows are pushed to it."""

from __future__ import annotations

import pyarrow.compute as pc

from panes.ingest.push import push
from panes.language import bind_insert
from panes.language.binder.bind_insert import BoundSelection
from panes.language.positions import offset_of, refuse
from panes.language.statements import CreateStream, InsertInto
from panes.statements.context import Context
from panes.statements.selected_rows import selected_rows
from panes.tables.inserted_rows import inserted_rows
from panes.tables.row_counts import RowCounts


def insert_into_stream(statement: InsertInto, context: Context) -> RowCounts:
    """Stores the rows for the next epoch, as `push` does: they are safe when it returns."""
    insert = bind_insert(statement, context.catalog)
    assert isinstance(insert.into, CreateStream)
    stream = insert.into.stream
    if isinstance(insert, BoundSelection):
        rows = selected_rows(insert, statement, context)
        time = None if stream.timestamp is None else rows.column(stream.timestamp.column)
        if time is not None and time.null_count:
            row = pc.index(time.is_null(), True).as_py()
            problem = f"row {row} of the query has no event time: {stream.timestamp.column} is NULL"  # type: ignore[union-attr]  # there is a time
            refuse(problem, statement.text, offset_of(statement.tree.expression))
    else:
        rows = inserted_rows(insert)
    return RowCounts(inserted=push(context.engine.stores.pushed, stream, rows))
