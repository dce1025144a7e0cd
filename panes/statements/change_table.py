"""One statement of a transaction, and where in its text an error points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from panes.errors import EvaluationError
from panes.language.positions import offset_of, refuse
from panes.language.statements import CreateTable, TableStatement
from panes.tables.constraints import Conflict, Scheduled, Violation
from panes.tables.row_counts import RowCounts
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents
from panes.tables.table_transaction import TableTransaction

ChangeOf: TypeAlias = Callable[[TableTransaction], Callable[[Contents], TableChange]]
"""Gives the change of the contents of a table, within a transaction."""


def change_table(
    statement: TableStatement, table: CreateTable, change_of: ChangeOf, offsets: Sequence[int] = ()
) -> Callable[[TableTransaction], RowCounts]:
    """Adds the change to a transaction. `offsets` says where in the text each given row stands."""

    def change(transaction: TableTransaction) -> RowCounts:
        try:
            return transaction.change(table, change_of(transaction))
        except Violation as violation:
            row = violation.row
            offset = offset_of(statement.tree) if row is None or not offsets else offsets[row]
            refuse(violation.problem, statement.text, offset, _hint(table, violation))
        except EvaluationError as error:
            refuse(str(error), statement.text, offset_of(statement.tree))

    return change


def _hint(table: CreateTable, violation: Violation) -> str | None:
    if isinstance(violation, Conflict):
        key = ", ".join(table.primary_key)
        return f"ON CONFLICT ({key}) DO UPDATE SET … changes the row that is there, DO NOTHING leaves it"
    if isinstance(violation, Scheduled):
        return f"name that instant or a later one: AT TIMESTAMP '{violation.instant}'"
    return None
