"""What the answer of a query is by definition: the SQL query over what the windows hold at an instant.

    answer_at(plan, arrivals, now)    DuckDB's answer over the windows
    same_rows(a, b)                   None when the two tables hold the same rows, else what differs

`arrivals` has for each stream a table of its columns and `_ts`, in the order of arrival; for each relation a
table with `_ts` and `_exp`, the times from which and until which a row is in it. Where tuples come late, a
column `_came` says the first instant of the span in which each came: it cannot be seen before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, TS
from panes.plan import nodes
from panes.plan.schema import Schema
from panes.plan.to_sql import quoted, to_sql
from panes.plan.windows import BeginEndWindow, NowWindow, RangeWindow, RowsWindow, UnboundedWindow

Arrivals = Mapping[str, pa.Table]

CAME = "_came"
_ORDER = "_order"
_HIDDEN = (TS, CAME, _ORDER)
_SEEN = f"greatest({TS}, {CAME})"
"""When a tuple can first be seen."""


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
        relations = {node: self._contents(node, now) for node in _leaves(plan)}
        return self._table(to_sql(plan, relations), plan.schema)

    def _contents(self, node: nodes.Node, now: int) -> str:
        """What a leaf of the plan holds at an instant, as SQL."""
        if isinstance(node, nodes.TableScan):
            return f"{self._scan(node, node.table)} WHERE {TS} <= {now} AND {now} < {EXP}"
        columns = ", ".join(map(quoted, node.schema.names))
        if not isinstance(node, nodes.Window):
            return f"SELECT {columns} FROM ({self._stream(node)}) WHERE {_SEEN} <= {now}"
        stream = self._stream(node.child)
        match node.spec:
            case RangeWindow(length, None):
                held = f"WHERE {_SEEN} <= {now} AND {now} < {TS} + {length}"
            case RangeWindow(length, int() as slide):
                at = now // slide * slide
                held = f"WHERE {_SEEN} <= {at} AND {at} < {TS} + {length}"
            case NowWindow():
                held = f"WHERE {_SEEN} = {now} AND {TS} = {now}"
            case UnboundedWindow():
                held = f"WHERE {_SEEN} <= {now}"
            case RowsWindow(rows, slide, partition_by):
                return _youngest(columns, f"{stream} WHERE {_SEEN} <= {now}", rows, slide or 1, partition_by)
            case BeginEndWindow():
                begin = now + node.spec.begin_us if node.spec.begin_is_relative else node.spec.begin_us
                end = now + node.spec.end_us if node.spec.end_is_relative else node.spec.end_us
                held = f"WHERE {_SEEN} <= {now} AND {TS} BETWEEN {begin} AND {end}"
        return f"SELECT {columns} FROM ({stream}) {held}"

    def _stream(self, node: nodes.Node) -> str:
        """The tuples of a stream, with their time and their order among those of one time."""
        scans: dict[nodes.Node, str] = {}
        for scan in _nodes(node):
            if isinstance(scan, nodes.StreamScan):
                rows = self._scan(scan, scan.stream, _HIDDEN)
                scans[scan] = f"SELECT * REPLACE ([{_ORDER}] AS {_ORDER}) FROM ({rows})"
        return f"SELECT * FROM ({_merge_in_order(node, scans)})"

    def _scan(self, node: nodes.StreamScan | nodes.TableScan, name: str, hidden: tuple[str, ...] = ()) -> str:
        prefix = f"{node.alias}."
        columns = [f"{quoted(n.removeprefix(prefix))} AS {quoted(n)}" for n in node.schema.names]
        return f"SELECT {', '.join(columns + list(hidden))} FROM {self._tables[name]}"

    def _table(self, sql: str, schema: Schema) -> pa.Table:
        result = self._connection.sql(sql).to_arrow_table()
        return pa.table(
            [c.cast(f.type.arrow) for c, f in zip(result.columns, schema, strict=True)], schema.arrow
        )


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


def _merge_in_order(node: nodes.Node, scans: Mapping[nodes.Node, str]) -> str:
    """The SQL of a stream; of tuples of one time those of the left side of a union come first."""
    relations = dict(scans)
    for child in node.children:
        relations[child] = _merge_in_order(child, scans)
    if isinstance(node, nodes.Union):
        for place, child in enumerate(node.children):
            order = f"list_prepend({place}, {_ORDER})"
            relations[child] = f"SELECT * REPLACE ({order} AS {_ORDER}) FROM ({relations[child]})"
        if node.left == node.right:
            raise ValueError("the two sides of a union must be told apart")
    return to_sql(node, relations, _HIDDEN)


def _youngest(columns: str, stream: str, rows: int, slide: int, partition_by: tuple[str, ...]) -> str:
    by = f"PARTITION BY {', '.join(map(quoted, partition_by))}" if partition_by else ""
    numbered = (
        f"SELECT *, row_number() OVER ({by} ORDER BY {_SEEN}, {CAME}, {_ORDER}) AS _number, "
        f"count(*) OVER ({by}) // {slide} * {slide} AS _last FROM ({stream})"
    )
    return f"SELECT {columns} FROM ({numbered}) WHERE _number <= _last AND _number > _last - {rows}"


def _leaves(plan: nodes.Node) -> list[nodes.Node]:
    """The windows, relations and unbounded streams that a plan reads."""
    if isinstance(plan, (nodes.Window, nodes.StreamScan, nodes.TableScan)):
        return [plan]
    return [leaf for child in plan.children for leaf in _leaves(child)]


def _nodes(plan: nodes.Node) -> list[nodes.Node]:
    return [plan, *(n for child in plan.children for n in _nodes(child))]


def _for_duckdb(table: pa.Table) -> pa.Table:
    """Instants without a zone, and the order of arrival."""
    if CAME not in table.column_names:
        table = table.append_column(CAME, pa.array(np.full(table.num_rows, BEGINNING)))
    columns = [c.cast(pa.timestamp("us")) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    plain = pa.table(columns, names=table.column_names)
    return plain.append_column(_ORDER, pa.array(np.arange(table.num_rows)))


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows of a table, and how often it holds each."""
    return Counter(tuple(map(_comparable, row.values())) for row in table.to_pylist())


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value + 0.0:.10e}"
    return tuple(map(_comparable, value)) if isinstance(value, list) else value
