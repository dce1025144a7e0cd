"""For tests of queries: a database that runs without Spark, and the answer of a query by definition.

    local()                           a database whose epochs run in this process, in milliseconds
    answer_at(plan, arrivals, now)    DuckDB's answer over the windows
    same_rows(a, b)                   None when the two tables hold the same rows, else what differs

`arrivals` has for each stream a table of its columns and `_ts`, in the order of arrival; for each relation a
table with `_ts` and `_exp`, the times from which and until which a row is in it. Where tuples come late, a
column `_came` says the first instant of the span in which each came: it cannot be seen before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from panes.clock import Clock, HandClock
from panes.database import Database
from panes.delta.delta import BEGINNING, EXP, TS
from panes.history.history_file import CAME
from panes.local.local_engine import LocalEngine
from panes.onetime.contents import ORDER, Scanned, contents_sql
from panes.onetime.run_sql import as_declared
from panes.plan import nodes
from panes.plan.to_sql import quoted
from panes.plan.windows import Reach

__all__ = ["Arrivals", "HandClock", "Oracle", "answer_at", "counted", "local", "same_rows"]

Arrivals = Mapping[str, pa.Table]


def local(
    path: str | Path | None = None,
    *,
    state: str | Path | None = None,
    clock: Clock | None = None,
    read_only: bool = False,
) -> Database:
    """Opens a database whose epochs run in this process, without Spark and Java: for tests of your queries.

    It takes the arguments of `panes.connect`, and a clock to move by hand (`panes.testing.HandClock`). Tasks run
    the same code as on Spark, one after another, so answers are the same. It reads pushed rows and local files.

    >>> with local() as db:
    ...     _ = db.sql("CREATE STREAM s (ts BIGINT, k STRING) TIMESTAMP BY ts SECONDS")
    ...     q = db.register("SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k")
    ...     _ = db.push("s", [(1, "a"), (2, "a"), (3, "b")])
    ...     _ = db.run()
    ...     sorted(q.invoke().to_pylist(), key=str)
    [{'k': 'a', 'n': 2}, {'k': 'b', 'n': 1}]
    """
    return Database(path, state=state, clock=clock, read_only=read_only, engine=LocalEngine)


class Oracle:
    """Answers of plans over given arrivals, by DuckDB."""

    def __init__(self, arrivals: Arrivals, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        self._connection = connection or duckdb.connect()
        self._tables: dict[str, str] = {}
        for number, (name, table) in enumerate(arrivals.items()):
            self._tables[name] = f"arrivals_{number}"
            self._connection.register(self._tables[name], _for_duckdb(table))

    def answer_at(self, plan: nodes.Node, now: int) -> pa.Table:
        """The answer at an instant, after all arrivals up to it."""
        result = self._connection.sql(contents_sql(plan, now, self)).to_arrow_table()
        return as_declared(result, plan.schema)

    def stream(self, scan: nodes.StreamScan, reach: Reach) -> Scanned:  # noqa: ARG002
        """All tuples: the oracle leaves nothing out to be faster."""
        return Scanned(self._select(scan, scan.stream, (TS, CAME, ORDER)))

    def relation(self, scan: nodes.TableScan) -> str:
        return self._select(scan, scan.table, (TS, EXP))

    def _select(self, scan: nodes.StreamScan | nodes.TableScan, name: str, hidden: Sequence[str] = ()) -> str:
        columns = [f"{quoted(scan.attribute(n))} AS {quoted(n)}" for n in scan.schema.names]
        return f"SELECT {', '.join([*columns, *hidden])} FROM {self._tables[name]}"


def answer_at(plan: nodes.Node, arrivals: Arrivals, now: int) -> pa.Table:
    """What SQL gives over the window contents at an instant."""
    with duckdb.connect() as connection:
        return Oracle(arrivals, connection).answer_at(plan, now)


def same_rows(one: pa.Table, other: pa.Table) -> str | None:
    """None when two tables hold the same rows, each as often; else a text that shows what differs.

    Doubles are the same when they agree in their first eleven digits.
    """
    a, b = counted(one), counted(other)
    if a == b:
        return None
    only = [f"  only in the {side}: {row} × {count}" for side, rows in (("first", a - b), ("second", b - a))
            for row, count in sorted(rows.items(), key=str)[:10]]  # fmt: skip
    return f"{one.num_rows} and {other.num_rows} rows\n" + "\n".join(only)


def _for_duckdb(table: pa.Table) -> pa.Table:
    """Instants without a zone, and the order of arrival."""
    if CAME not in table.column_names:
        table = table.append_column(CAME, pa.array(np.full(table.num_rows, BEGINNING)))
    columns = [c.cast(pa.timestamp("us")) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    plain = pa.table(columns, names=table.column_names)
    return plain.append_column(ORDER, pa.array(np.arange(table.num_rows)))


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows of a table, and how often it holds each."""
    return Counter(tuple(map(_comparable, row.values())) for row in table.to_pylist())


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value + 0.0:.10e}"
    if isinstance(value, dict):
        return tuple((name, _comparable(field)) for name, field in value.items())
    return tuple(map(_comparable, value)) if isinstance(value, list) else value
