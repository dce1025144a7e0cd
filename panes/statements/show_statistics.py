"""SHOW STATISTICS: what plans are chosen by, and which of it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from panes.errors import PanesError
from panes.optimizer.assumed import RATE, SPAN, assumed_costs
from panes.optimizer.statistics import EPOCH, Fact, FactName, Kind
from panes.statements.context import Context

_UNITS: Mapping[Kind, str] = {
    "rate": "rows/s",
    "rows": "rows",
    "selectivity": "rows/row",
    "join": "results/pair",
    "distinct": "values",
    "early": "share",
    "span": "s/epoch",
    "invocations": "invocations/s",
}
_COST_UNITS = {"fixed": "µs/span", "visit": "µs/pair", "weigh": "µs/result"}
_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("name", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("epochs", pa.int64()),
        ("source", pa.string()),
    ]
)


def show_statistics(context: Context) -> pa.Table:
    """A table of all facts, by kind and name. `source` is 'measured', 'counted' (the rows of tables), 'assumed',
    or, of a table that cannot be read, the reason."""
    streams = {stream.name for stream in context.catalog.base_streams()}
    found = {name: fact for name, fact in context.statistics().facts.items() if _is_there(name, streams)}
    assumed = {FactName("rate", stream): Fact(RATE) for stream in streams}
    assumed[FactName("span", EPOCH)] = Fact(SPAN)
    for operator, part, cost in assumed_costs():
        assumed[FactName("cost", f"{operator} {part}")] = Fact(cost)
    shown = [(name, fact) for name, fact in (assumed | found).items()]
    shown.sort(key=lambda one: (_KINDS.index(one[0].kind), one[0].name))
    rows = [*_unread_tables(context), *(_row(name, fact) for name, fact in shown)]
    rows.sort(key=lambda row: _KINDS.index(str(row["kind"])))
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


_KINDS: list[str] = [*_UNITS, "cost"]


def _unread_tables(context: Context) -> Iterator[dict[str, object]]:
    """A row for each table whose rows cannot be counted, with the reason: plans are chosen without it."""
    for table in context.catalog.tables():
        try:
            context.tables.contents(table.name)
        except PanesError as error:
            yield {
                "kind": "rows",
                "name": table.name,
                "value": None,
                "unit": _UNITS["rows"],
                "epochs": None,
                "source": f"cannot be read: {error}",
            }


def _is_there(name: FactName, streams: set[str]) -> bool:
    """Not the rates of streams that are gone: facts are kept for plans to come."""
    return name.kind != "rate" or name.name in streams


def _row(name: FactName, fact: Fact) -> dict[str, object]:
    is_counted = name.kind == "rows"
    source = "counted" if is_counted else "assumed" if fact.is_assumed else "measured"
    unit = _UNITS.get(name.kind) or _COST_UNITS.get(name.name.rpartition(" ")[2], "µs/row")
    epochs = None if is_counted or fact.is_assumed else fact.epochs
    return {
        "kind": name.kind,
        "name": name.name,
        "value": fact.value,
        "unit": unit,
        "epochs": epochs,
        "source": source,
    }
