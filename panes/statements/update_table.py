"""UPDATE and DELETE FROM a table."""

from __future__ import annotations

from collections.abc import Callable

from panes.language import bind_delete, bind_update
from panes.language.statements import CreateTable, DeleteFrom, UpdateTable
from panes.statements.change_table import change_table
from panes.statements.check_instant import check_instant
from panes.statements.context import Context
from panes.tables.delete_rows import delete_rows
from panes.tables.row_counts import RowCounts
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents
from panes.tables.table_transaction import TableTransaction
from panes.tables.update_rows import update_rows


def update_table(
    statement: UpdateTable | DeleteFrom, context: Context
) -> Callable[[TableTransaction], RowCounts]:
    """Binds the statement; what it returns adds its change to a transaction. Both raise SqlError."""
    table, change_of = _bound(statement, context)
    check_instant(statement, table, context)
    return change_table(statement, table, lambda _: change_of)


def _bound(
    statement: UpdateTable | DeleteFrom, context: Context
) -> tuple[CreateTable, Callable[[Contents], TableChange]]:
    """The table, and the change of its contents."""
    match statement:
        case UpdateTable():
            update = bind_update(statement, context.catalog)
            return update.table, lambda contents: update_rows(contents, update)
        case DeleteFrom():
            delete = bind_delete(statement, context.catalog)
            return delete.table, lambda contents: delete_rows(contents, delete)
