"""Tuples as a store of BEGIN … END aggregates gets them, without the steps of a task."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import CAME, TS
from panes.delta.evaluate import evaluate, mask_of
from panes.plan.nodes import Node, Project, Select, StreamScan
from panes.plan.walk import walk
from panes.sharing.begin_end_aggregate import BeginEndAggregate, begin_end_aggregate_of
from panes.synopses.timed_store import TimedStore


def reading_of(plan: Node) -> BeginEndAggregate:
    found = begin_end_aggregate_of(plan)
    assert found is not None
    return found


def in_store(reading: BeginEndAggregate, rows: pa.Table) -> pa.Table:
    """The tuples as the steps before the store hand them on."""
    project = reading.store.child
    assert isinstance(project, Project)
    (scan,) = (node for node in walk(project) if isinstance(node, StreamScan))
    rows = rows.rename_columns([n if n in (TS, CAME) else f"{scan.alias}.{n}" for n in rows.column_names])
    if isinstance(project.child, Select):
        rows = rows.filter(mask_of(project.child.predicate, rows))
    columns = {name: evaluate(expression, rows) for name, expression in project.columns}
    return pa.table(
        {**columns, **{name: rows.column(name) for name in (TS, CAME) if name in rows.column_names}}
    )


def opened(reading: BeginEndAggregate, store: TimedStore | None = None) -> TimedStore:
    """An empty store, or one over what another has kept."""
    columns = reading.store.schema.names
    return TimedStore(columns, reading.store.keys, None if store is None else store.chunks)
