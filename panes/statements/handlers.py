"""The handler of every kind of statement, and the execution of a statement by its handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from panes.answers.answer import Answer
from panes.language import statements as st
from panes.statements.alter_query import alter_query
from panes.statements.context import Context
from panes.statements.create_derived_stream import create_derived_stream
from panes.statements.create_query import create_query
from panes.statements.create_stream import create_stream
from panes.statements.create_table import create_table
from panes.statements.drop import drop
from panes.statements.explain_query import explain_query
from panes.statements.invoke_query import invoke_query
from panes.statements.select_once import select_once
from panes.statements.set_setting import set_setting
from panes.statements.set_shards import set_shards
from panes.statements.show import show
from panes.statements.update_table import update_table

Result: TypeAlias = Answer | pa.Table | str | None
"""What a statement gives: SELECT and INVOKE an answer, SHOW a table, EXPLAIN text, the others nothing."""

HANDLERS: Mapping[type[st.Statement], Callable[[Any, Context], Result]] = {
    st.SelectQuery: select_once,
    st.CreateStream: create_stream,
    st.CreateDerivedStream: create_derived_stream,
    st.CreateTable: create_table,
    st.InsertInto: update_table,
    st.UpdateTable: update_table,
    st.DeleteFrom: update_table,
    st.CreateQuery: create_query,
    st.AlterQuery: alter_query,
    st.SetShards: set_shards,
    st.Invoke: invoke_query,
    st.Explain: explain_query,
    st.Show: show,
    st.Drop: drop,
    st.SetSetting: set_setting,
}

READING: frozenset[type[st.Statement]] = frozenset({st.SelectQuery, st.Invoke, st.Explain, st.Show})
"""The statements that change nothing, and that a connection which only reads may run."""

AS_OF: frozenset[type[st.Statement]] = frozenset({st.SelectQuery, st.Invoke})
"""The statements that can be asked as of an instant."""


def execute(statement: st.Statement, context: Context) -> Result:
    """Runs one statement. An error changes nothing."""
    kind = type(statement)
    if kind not in READING:
        context.connection.check_writable()
    return HANDLERS[kind](statement, context)
