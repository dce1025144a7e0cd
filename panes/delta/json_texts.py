"""Functions of JSON in text, by DuckDB: engines print numbers and objects of JSON in different ways."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

Datum = Any

_OF_THREAD = threading.local()


def extract(texts: Datum, path: pa.Scalar) -> Datum:
    """The JSON at a path, as text."""
    return _extracted("CAST(json_extract(text, $path) AS VARCHAR)", texts, path)


def extract_string(texts: Datum, path: pa.Scalar) -> Datum:
    """The same; a string without its quotes, and NULL for null."""
    return _extracted("json_extract_string(text, $path)", texts, path)


def _extracted(call: str, texts: Datum, path: pa.Scalar) -> Datum:
    if isinstance(texts, pa.Scalar):
        return _extracted(call, pa.array([texts.as_py()], pa.string()), path)[0]
    connection = _connection()
    connection.register("given", pa.table({"text": texts}))
    try:
        query = f"SELECT CASE WHEN json_valid(text) THEN {call} END AS found FROM given"
        found = connection.sql(query, params={"path": path.as_py()}).to_arrow_table()
    finally:
        connection.unregister("given")
    return found.column("found").cast(pa.string())


def _connection() -> duckdb.DuckDBPyConnection:
    """One connection of each thread: rows stay in their order, and no work is spread."""
    import duckdb  # only where a query reads JSON: workers start without it

    found: duckdb.DuckDBPyConnection | None = getattr(_OF_THREAD, "connection", None)
    if found is None:
        found = _OF_THREAD.connection = duckdb.connect(config={"threads": 1})
    return found
