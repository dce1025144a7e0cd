"""Loading rows that a program gives into a table."""

from __future__ import annotations

from panes.errors import CatalogError
from panes.ingest.conforming_rows import conforming_rows
from panes.ingest.given_rows import Rows
from panes.ingest.receiver import Receiver
from panes.statements.context import Context
from panes.tables.constraints import Violation
from panes.tables.load_rows import LoadConflict, load_rows, why_not_load
from panes.tables.row_counts import RowCounts
from panes.tables.table_transaction import TableTransaction


def load_table(
    name: str, rows: Rows, context: Context, *, replace: bool = False, on_conflict: LoadConflict = "error"
) -> RowCounts:
    """Loads the rows in one transaction; they are durable when it returns.

    Raises CatalogError when there is no such table, and ConstraintError, with the first row that it does not take.
    """
    context.connection.check_writable()
    table = context.catalog.table(name)
    if table is None:
        known = ", ".join(table.name for table in context.catalog.tables()) or "none yet"
        raise CatalogError(f"there is no table named {name!r}; there are {known}")
    receiver = Receiver.of(table)
    problem = why_not_load(table, on_conflict, replace=replace)
    if problem is not None:
        raise receiver.refusal(problem)
    given = conforming_rows(receiver, rows)
    with context.tables.lock:
        transaction = TableTransaction(context.tables)
        try:
            counts = transaction.change(
                table, lambda contents: load_rows(contents, given, on_conflict, replace=replace)
            )
        except Violation as violation:
            where = "" if violation.row is None else f"row {violation.row}: "
            first = "" if violation.first is None else f", first in row {violation.first}"
            raise receiver.refusal(f"{where}{violation.problem}{first}") from None
        transaction.accept()
    return counts
