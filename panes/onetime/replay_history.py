"""Queries over output streams: the history goes once more through the operators that a standing query has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING, TS
from panes.history.history_file import CAME, EPOCH
from panes.history.history_store import History
from panes.history.query_clocks import QueryClocks
from panes.operators.lower import lower
from panes.plan.nodes import Node, TableScan, with_children
from panes.plan.stream import Stream
from panes.plan.walk import streams_of
from panes.tables.table_store import Tables


def replay(
    plan: Node,
    streams: Mapping[str, Stream],
    history: History,
    epoch: int,
    now: int,
    clocks: QueryClocks | None = None,
    tables: Tables | None = None,
) -> pa.Table:
    """The answer of a plan at an instant, after the rows of all epochs up to one.

    It is that of a query registered before the first row that is kept.
    """
    plan, scans = _with_own_names(plan)
    dataflow = lower(plan)
    arrivals = {
        name: _as_seen(history.arrivals(streams[name], epoch, columns=schema.names), clocks)
        for name, schema in dataflow.inputs.items()
        if name not in scans
    }
    # Changes wait for their instant by themselves, and tuples that look a table up meet the version of their time.
    changes: dict[str, pa.Table] = {}
    for name, scan in scans.items():
        assert tables is not None
        by = streams_of(plan) if scan.stream is None else {scan.stream}
        changes[name] = tables.versions(scan.table, {streams[stream].number for stream in by}, epoch)
    since = BEGINNING
    deltas: list[pa.Table] = []
    for clock in _clocks(arrivals, now):
        came = {name: _come(table, since, clock) for name, table in arrivals.items()}
        deltas.append(dataflow.process(came | changes, since, clock).table)
        since, changes = clock, {}
    names = deltas[0].column_names
    return contents_at(pa.concat_tables([table.select(names) for table in deltas]), now)


def _with_own_names(plan: Node) -> tuple[Node, dict[str, TableScan]]:
    """The plan with a name for each scan of a table, and the scans by these names: when a change takes effect
    differs from scan to scan."""
    scans: dict[str, TableScan] = {}

    def renamed(node: Node) -> Node:
        if not isinstance(node, TableScan):
            return with_children(node, *map(renamed, node.children))
        name = f"{node.table} {node.stream}"
        scans[name] = node
        return replace(node, table=name)

    return renamed(plan), scans


def _as_seen(arrivals: pa.Table, clocks: QueryClocks | None) -> pa.Table:
    """The arrivals with `_came` as the query has it that reads them, as far as its clocks are known."""
    return (arrivals if clocks is None else clocks.as_seen(arrivals)).drop_columns([EPOCH])


def _clocks(arrivals: Mapping[str, pa.Table], last: int) -> list[int]:
    """Where to cut time: rows that came late must not be seen before they came; others wait by themselves."""
    cuts: set[int] = {last}
    for table in arrivals.values():
        ts, came = table.column(TS).to_numpy(), table.column(CAME).to_numpy()
        cuts |= {int(instant) - 1 for instant in np.unique(came[came > ts])}
    return sorted(cuts)


def _come(table: pa.Table, since: int, clock: int) -> pa.Table:
    """What came after one clock and up to another; before the first of them nothing had."""
    came = table.column(CAME).to_numpy()
    is_new = (came > since) | (since == BEGINNING)
    return table.filter(pa.array(is_new & (came <= clock))).drop_columns([CAME])
