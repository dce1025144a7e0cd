"""INSERT INTO, UPDATE and DELETE FROM a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from panes.errors import EvaluationError
from panes.language import bind_delete, bind_insert, bind_update
from panes.language.positions import offset_of, refuse
from panes.language.statements import CreateTable, DeleteFrom, InsertInto, TableStatement, UpdateTable
from panes.statements.check_instant import check_instant
from panes.statements.context import Context
from panes.tables.constraints import Conflict, Scheduled, Violation
from panes.tables.delete_rows import delete_rows
from panes.tables.insert_rows import insert_rows, values_of
from panes.tables.row_counts import RowCounts
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents
from panes.tables.table_transaction import TableTransaction
from panes.tables.update_rows import update_rows


def update_table(
    statement: InsertInto | UpdateTable | DeleteFrom, context: Context
) -> Callable[[TableTransaction], RowCounts]:
    """Binds the statement; what it returns adds its change to a transaction. Both raise SqlError."""
    table, change_of, offsets = _bound(statement, context)
    check_instant(statement, table, context)

    def change(transaction: TableTransaction) -> RowCounts:
        try:
            return transaction.change(table, change_of)
        except Violation as violation:
            row = violation.row
            offset = offset_of(statement.tree) if row is None else offsets[row]
            refuse(violation.problem, statement.text, offset, _hint(table, violation))
        except EvaluationError as error:
            refuse(str(error), statement.text, offset_of(statement.tree))

    return change


def _bound(
    statement: TableStatement, context: Context
) -> tuple[CreateTable, Callable[[Contents], TableChange], Sequence[int]]:
    """The table, the change of its contents, and where in the text each given row stands."""
    match statement:
        case InsertInto():
            insert = bind_insert(statement, context.catalog)
            rows = values_of(insert)
            return insert.table, lambda contents: insert_rows(contents, rows, insert.conflict), insert.offsets
        case UpdateTable():
            update = bind_update(statement, context.catalog)
            return update.table, lambda contents: update_rows(contents, update), ()
        case DeleteFrom():
            delete = bind_delete(statement, context.catalog)
            return delete.table, lambda contents: delete_rows(contents, delete), ()


def _hint(table: CreateTable, violation: Violation) -> str | None:
    if isinstance(violation, Conflict):
        key = ", ".join(table.primary_key)
        return f"ON CONFLICT ({key}) DO UPDATE SET … changes the row that is there, DO NOTHING leaves it"
    if isinstance(violation, Scheduled):
        return f"name that instant or a later one: AT TIMESTAMP '{violation.instant}'"
    return None
