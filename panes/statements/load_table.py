"""Loading rows that a program gives into a table."""

from __future__ import annotations

from collections.abc import Sized

from rich.console import Console

from panes.errors import CatalogError
from panes.ingest.conforming_rows import conforming_rows
from panes.ingest.given_rows import Rows
from panes.ingest.receiver import Receiver
from panes.language.statements import CreateTable
from panes.progress_bar import progress_line
from panes.statements.context import Context
from panes.tables.constraints import Violation
from panes.tables.load_rows import LoadConflict, load_rows, why_not_load
from panes.tables.row_counts import RowCounts
from panes.tables.table_transaction import TableTransaction

_MANY = 100_000
"""Rows whose loading takes long enough for progress to be shown."""


def load_table(
    name: str,
    rows: Rows,
    context: Context,
    *,
    replace: bool = False,
    on_conflict: LoadConflict = "error",
    progress: Console | bool | None = None,
) -> RowCounts:
    """Loads the rows in one transaction; they are durable when it returns.

    Raises CatalogError when there is no such table, and ConstraintError, with the first row that it does not take.
    """
    context.connection.check_writable()
    table = context.catalog.table(name)
    if table is None:
        if context.catalog.stream(name) is not None:
            raise CatalogError(f"{name!r} is a stream: give it rows with db.push({name!r}, rows)")
        known = ", ".join(table.name for table in context.catalog.tables()) or "none yet"
        raise CatalogError(f"there is no table named {name!r}; there are {known}")
    problem = why_not_load(table, on_conflict, replace=replace)
    if problem is not None:
        raise Receiver.of(table).refusal(problem)
    count = len(rows) if isinstance(rows, Sized) else 0
    with progress_line(progress if count >= _MANY else False, f"loading {count:,} rows into {table.name}"):
        return _load(table, rows, context, on_conflict, replace=replace)


def _load(
    table: CreateTable, rows: Rows, context: Context, on_conflict: LoadConflict, *, replace: bool
) -> RowCounts:
    receiver = Receiver.of(table)
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
