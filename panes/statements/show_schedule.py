"""SHOW SCHEDULE: the answers that are refreshed by deadline, and how that keeps to what they ask for."""

from __future__ import annotations

import pyarrow as pa

from panes.statements.context import Context

_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("group", pa.int64()),
        ("asked", pa.int64()),
        ("given", pa.float64()),
        ("d", pa.int64()),
        ("late", pa.int64()),
        ("latency", pa.float64()),
        ("cost", pa.float64()),
    ]
)


def show_schedule(context: Context) -> pa.Table:
    """A table of the queries that are refreshed by deadline.

    `group` is the number of the synopsis that a query reads, `asked` how many updates of it there may be between
    two refreshes, `given` how many there are on average, `d` how many there may be until the deadline (negative:
    it has passed). `late` is the number of refreshes after the deadline, `latency` by how many updates refreshes
    come too late on average, `cost` the seconds that a refresh of the query alone takes.
    """
    return pa.Table.from_pylist(
        [row._asdict() for row in context.refreshing.schedule(context.connection.log.latest())],
        schema=_SCHEMA,
    )
