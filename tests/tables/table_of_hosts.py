"""A table of hosts, and changes of it."""

from __future__ import annotations

import pyarrow as pa

from panes.language.statements import CreateTable
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING

HOSTS = CreateTable("hosts", Schema.of([("src", BIGINT), ("owner", STRING)]), ("src",), number=1)


def change(*rows: tuple[int, str, int]) -> pa.Table:
    """A change of the table: source, owner and weight of each row."""
    sources, owners, weights = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "src": pa.array(sources, pa.int64()),
            "owner": pa.array(owners, pa.string()),
            "_weight": pa.array(weights, pa.int64()),
        }
    )


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of a table, in order."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=str)
