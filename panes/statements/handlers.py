"""The handler of every kind of statement that changes no table, and the execution of statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa

from panes.answers.answer import Answer
from panes.language import statements as st
from panes.statements.add_column import add_column
from panes.statements.alter_query import alter_query
from panes.statements.alter_query_as import alter_query_as
from panes.statements.alter_stream import alter_stream
from panes.statements.comment_on import comment_on
from panes.statements.context import Context
from panes.statements.create_again import create_again
from panes.statements.create_derived_stream import create_derived_stream
from panes.statements.create_function import create_function
from panes.statements.create_query import create_query
from panes.statements.create_stream import create_stream
from panes.statements.create_table import create_table
from panes.statements.describe_object import describe_object
from panes.statements.drop import drop
from panes.statements.drop_function import drop_function
from panes.statements.explain_query import explain_query
from panes.statements.insert_into_stream import insert_into_stream
from panes.statements.invoke_query import invoke_query
from panes.statements.rename import rename
from panes.statements.run_transaction import changes_table, run_transaction
from panes.statements.select_once import select_once
from panes.statements.set_setting import set_setting
from panes.statements.set_shards import set_shards
from panes.statements.show import show
from panes.statements.show_create import show_create
from panes.statements.show_plans import show_plans
from panes.tables.row_counts import RowCounts

Result: TypeAlias = Answer | RowCounts | pa.Table | str | None
"""What a statement gives: SELECT and INVOKE an answer, INSERT, UPDATE, DELETE and COPY the numbers of rows, SHOW a
table, EXPLAIN text, the others nothing."""

HANDLERS: Mapping[type[st.Statement], Callable[[Any, Context], Result]] = {
    st.SelectQuery: select_once,
    st.CreateStream: create_stream,
    st.CreateDerivedStream: create_derived_stream,
    st.CreateTable: create_table,
    st.CreateQuery: create_query,
    st.CreateAgain: create_again,
    st.AlterQuery: alter_query,
    st.AlterQueryAs: alter_query_as,
    st.Rename: rename,
    st.AlterStream: alter_stream,
    st.AddColumn: add_column,
    st.SetShards: set_shards,
    st.InsertInto: insert_into_stream,
    st.Invoke: invoke_query,
    st.Explain: explain_query,
    st.Show: show,
    st.ShowCreate: show_create,
    st.ShowPlans: show_plans,
    st.Describe: describe_object,
    st.CommentOn: comment_on,
    st.Drop: drop,
    st.CreateFunction: create_function,
    st.DropFunction: drop_function,
    st.SetSetting: set_setting,
}

READING: frozenset[type[st.Statement]] = frozenset(
    {st.SelectQuery, st.Invoke, st.Explain, st.Show, st.ShowCreate, st.ShowPlans, st.Describe}
)
"""The statements that change nothing, and that a connection which only reads may run."""

AS_OF: frozenset[type[st.Statement]] = frozenset({st.SelectQuery, st.Invoke})
"""The statements that can be asked as of an instant."""


def execute(statement: st.Statement, context: Context) -> Result:
    """Runs one statement. An error changes nothing."""
    return execute_all([statement], context)


def execute_all(statements: Sequence[st.Statement], context: Context) -> Result:
    """Runs statements in order; gives what the last one gives.

    Statements that change tables and stand together are one transaction. An error changes nothing of the statement
    or the transaction in which it happens; what was done before stays done.
    """
    result: Result = None
    for is_change, together in groupby(statements, lambda s: changes_table(s, context.catalog)):
        if is_change:
            result = run_transaction(list(together), context)  # type: ignore[arg-type]  # those of CHANGES
            continue
        for statement in together:
            if type(statement) not in READING:
                context.connection.check_writable()
            result = HANDLERS[type(statement)](statement, context)
    return result
