"""INSERT INTO a table: rows of constants, or those of a query."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from panes.language import bind_insert
from panes.language.binder.bind_insert import BoundSelection
from panes.language.binder.bind_table_updates import OnConflict
from panes.language.statements import CreateTable, InsertInto
from panes.plan.walk import is_table_only
from panes.statements.change_table import change_table
from panes.statements.check_instant import check_instant
from panes.statements.context import Context
from panes.statements.selected_rows import selected_rows
from panes.tables.insert_rows import insert_rows
from panes.tables.inserted_rows import inserted_rows
from panes.tables.row_counts import RowCounts
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents
from panes.tables.table_transaction import TableTransaction


def insert_into_table(statement: InsertInto, context: Context) -> Callable[[TableTransaction], RowCounts]:
    """Binds the statement; what it returns adds its change to a transaction. Both raise SqlError.

    A query over tables alone sees the statements of the transaction before it. One that reads streams is answered
    before the transaction begins, as of the last epoch, as it would be by itself.
    """
    insert = bind_insert(statement, context.catalog)
    table = insert.into
    assert isinstance(table, CreateTable)
    check_instant(statement, table, context)
    if not isinstance(insert, BoundSelection):
        rows = inserted_rows(insert)
        return change_table(statement, table, lambda _: _inserting(rows, insert.conflict), insert.offsets)
    if is_table_only(insert.plan):
        return change_table(
            statement,
            table,
            lambda transaction: _inserting(
                selected_rows(insert, statement, context, transaction), insert.conflict
            ),
        )
    rows = selected_rows(insert, statement, context)
    return change_table(statement, table, lambda _: _inserting(rows, insert.conflict))


def _inserting(rows: pa.Table, conflict: OnConflict | None) -> Callable[[Contents], TableChange]:
    return lambda contents: insert_rows(contents, rows, conflict)
