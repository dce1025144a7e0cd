"""Functions and aggregates of users in DuckDB: each is a function of the connection, evaluated in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from panes.aggregates.own_results import own_result, typed
from panes.delta.own_values import own_values
from panes.plan.expressions import Aggregate, OwnCall
from panes.plan.sql_functions import own_name, sql_type
from panes.plan.types import Type, list_of


def add_own_functions(connection: duckdb.DuckDBPyConnection, calls: Iterable[OwnCall | Aggregate]) -> None:
    """Makes the functions that calls need known to a connection, where they are not yet."""
    for call in calls:
        name = own_name(call)
        known = "SELECT 1 FROM duckdb_functions() WHERE function_name = ? LIMIT 1"
        if connection.execute(known, [name]).fetchone() is None:
            _add(connection, name, call)


def _add(connection: duckdb.DuckDBPyConnection, name: str, call: OwnCall | Aggregate) -> None:
    if isinstance(call, OwnCall):
        takes = [arg.type for arg in call.args]
        function = _scalar(call, takes)
    else:
        assert call.arg is not None
        takes = [list_of(call.arg.type)]
        function = _aggregate(call, takes[0])
    connection.create_function(
        name,
        function,
        [connection.type(sql_type(type_)) for type_ in takes],
        connection.type(sql_type(call.type)),
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )


def _scalar(call: OwnCall, takes: list[Type]) -> Callable[..., Any]:
    def function(*columns: Any) -> pa.Array:
        declared = [column.cast(type_.arrow) for column, type_ in zip(columns, takes, strict=True)]
        return _plain(own_values(call, declared, len(declared[0])))

    # DuckDB asks a function how many arguments it takes.
    names = [Parameter(f"x{place}", Parameter.POSITIONAL_ONLY) for place in range(len(takes))]
    function.__signature__ = Signature(names)  # type: ignore[attr-defined]
    return function


def _aggregate(call: Aggregate, takes: Type) -> Callable[..., Any]:
    def function(lists: Any) -> pa.Array:
        groups = lists.cast(takes.arrow).to_pylist()
        results = [None if held is None else own_result(call, ((v, 1) for v in held)) for held in groups]
        return _plain(typed(call, results))

    return function


def _plain(column: pa.Array) -> pa.Array:
    """As DuckDB has it: instants without a zone."""
    return column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
