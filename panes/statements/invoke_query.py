"""INVOKE name WHERE …: the current answer of a registered query, or some rows of it."""

from __future__ import annotations

from dataclasses import replace

from panes.answers.answer import Answer
from panes.answers.sorted_rows import in_order
from panes.language import Reading, bind_invoke, bind_invoke_where
from panes.language.statements import Invoke
from panes.statements.context import Context


def invoke_query(statement: Invoke, context: Context) -> Answer:
    """The answer as of the last committed epoch, or as it was at an instant; in another order, or some rows of it,
    if the statement says so."""
    where = None
    if statement.where is not None:
        where = bind_invoke_where(statement, context.answers.schema_of(statement.name), context.catalog)
    answer = context.reads.invoke(
        statement.name, context.as_of, where, isolation=context.isolation, epoch=context.epoch
    )
    reading = bind_invoke(statement, answer.table.column_names)
    if reading == Reading():
        return answer
    # Without an order of its own, INVOKE takes the first rows in that of the query.
    is_sorted = answer.is_sorted and not reading.order
    rows = answer.table if is_sorted else in_order(answer.table, reading.order)
    return replace(answer, table=rows.slice(reading.offset, reading.limit), is_sorted=True)
