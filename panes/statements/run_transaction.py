"""Running statements that change tables as one transaction: all take effect together, or none does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from panes.catalog import Catalog
from panes.language import statements as st
from panes.language.positions import offset_of, refuse
from panes.statements.context import Context
from panes.statements.copy_table import copy_table
from panes.statements.insert_into_table import insert_into_table
from panes.statements.update_table import update_table
from panes.tables.row_counts import RowCounts
from panes.tables.table_transaction import TableTransaction

CHANGES: Mapping[type[st.Statement], Callable[[Any, Context], Callable[[TableTransaction], RowCounts]]] = {
    st.InsertInto: insert_into_table,
    st.UpdateTable: update_table,
    st.DeleteFrom: update_table,
    st.CopyFrom: copy_table,
}
"""The statements that change tables, and what prepares each of them."""


def changes_table(statement: st.Statement, catalog: Catalog) -> bool:
    """Whether a statement changes a table: INSERT may have a stream for its target."""
    if isinstance(statement, st.InsertInto):
        return catalog.stream(statement.table) is None
    return type(statement) in CHANGES


def run_transaction(statements: Sequence[st.TableStatement | st.CopyFrom], context: Context) -> RowCounts:
    """Runs the statements; they are durable when it returns. Gives what the last one did.

    Raises SqlError for the first statement that cannot be run; then nothing has changed.
    """
    context.connection.check_writable()
    at = _common_instant(statements)
    # Names are resolved and files are read before the lock is taken, so that nobody waits for that.
    prepared = [CHANGES[type(statement)](statement, context) for statement in statements]
    with context.tables.lock:
        transaction = TableTransaction(context.tables, at)
        counts = [change(transaction) for change in prepared]
        transaction.accept()
    return counts[-1]


def _common_instant(statements: Sequence[st.TableStatement | st.CopyFrom]) -> int | None:
    """The instant that all statements name, or none does."""
    at = _instant_of(statements[0])
    for statement in statements:
        if _instant_of(statement) != at:
            refuse(
                "statements that are run together take effect at one instant",
                statement.text,
                offset_of(statement.tree.args.get("at") or statement.tree),
                "give all of them the same AT TIMESTAMP, or run them one after the other",
            )
    return at


def _instant_of(statement: st.TableStatement | st.CopyFrom) -> int | None:
    return None if isinstance(statement, st.CopyFrom) else statement.at
