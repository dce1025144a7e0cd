"""Running SQL once, by DuckDB, over files and over tables that are in memory."""

from __future__ import annotations

import atexit
import functools
import os
import threading
from collections.abc import Iterable, Mapping

import duckdb
import pyarrow as pa

from panes.errors import EvaluationError
from panes.onetime.add_own_functions import add_own_functions
from panes.plan.expressions import Aggregate, OwnCall
from panes.plan.schema import Schema

_connecting = threading.Lock()


def run_sql(
    sql: str, schema: Schema, tables: Mapping[str, pa.Table], calls: Iterable[OwnCall | Aggregate] = ()
) -> pa.Table:
    """What a SELECT gives, in the types of a schema; it may read tables by name, and call functions and aggregates
    of users. Raises EvaluationError."""
    with _connecting:
        add_own_functions(_connection(), calls)
        cursor = _connection().cursor()
    try:
        for name, rows in tables.items():
            cursor.register(name, rows)
        return as_declared(cursor.sql(sql).to_arrow_table(), schema)
    except duckdb.Error as error:
        raise EvaluationError(f"the query cannot be answered: {error}") from error
    finally:
        cursor.close()


def leave_cores(is_left: bool) -> None:
    """Whether queries leave half of the cores to others: to be switched on while epochs run."""
    cores = os.cpu_count() or 1
    with _connecting:
        _connection().execute(f"SET threads = {max(1, cores // 2) if is_left else cores}")


def as_declared(result: pa.Table, schema: Schema) -> pa.Table:
    """What DuckDB gives, in the types of the plan: instants with their zone, lengths as durations."""
    columns = [column.cast(f.type.arrow) for column, f in zip(result.columns, schema, strict=True)]
    return pa.table(columns, schema.arrow)


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One for the process: it holds nothing, and to open one takes longer than to answer a query."""
    connection = duckdb.connect()
    # DuckDB complains on standard error of whatever is left of it when the process ends.
    atexit.register(_connection.cache_clear)
    connection.execute("SET parquet_metadata_cache = true")
    connection.execute("SET TimeZone = 'UTC'")  # for instants inside of lists and STRUCTs
    return connection
