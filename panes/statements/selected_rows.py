"""The rows of INSERT … SELECT: a query that is asked once."""

from __future__ import annotations

import pyarrow as pa

from panes.errors import EvaluationError
from panes.language.binder.bind_insert import BoundSelection
from panes.language.positions import offset_of, refuse
from panes.language.statements import InsertInto
from panes.onetime.answer_from_tables import answer_from_contents
from panes.optimizer.optimizer import optimize
from panes.plan.walk import tables_of
from panes.statements.context import Context
from panes.tables.inserted_rows import inserted_rows
from panes.tables.table_transaction import TableTransaction


def selected_rows(
    insert: BoundSelection,
    statement: InsertInto,
    context: Context,
    transaction: TableTransaction | None = None,
) -> pa.Table:
    """The rows as of the last epoch, or those of tables alone after the statements of a transaction so far.

    Raises SqlError when the query cannot be asked once, and when a value does not fit into its column.
    """
    query = statement.tree.expression
    plan = optimize(insert.plan)
    why_not = context.one_time.why_not(plan)
    if why_not is not None:
        refuse(why_not.reason, statement.text, offset_of(query), hint=why_not.hint)
    try:
        if transaction is None:
            return inserted_rows(insert, context.one_time.answer(plan).table)
        contents = {name: transaction.contents(name) for name in sorted(tables_of(plan))}
        return inserted_rows(insert, answer_from_contents(plan, contents))
    except EvaluationError as error:
        refuse(str(error), statement.text, offset_of(query))
