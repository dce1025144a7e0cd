"""SHOW SYNOPSES: the synopses that aggregates over one stream, or over a join of two, share."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from panes.plan.nodes import JoinSynopsis, Synopsis
from panes.plan.walk import streams_of
from panes.statements.context import Context
from panes.statements.kept_of_synopsis import kept_of_synopsis
from panes.synopses.definition import group_by_of, panes_of, window_of
from panes.synopses.join_definition import cells_of, joined_group_by_of, joined_of, pane_of

_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("panes", pa.int64()),
        ("pane", pa.duration("us")),
        ("groups", pa.int64()),
        ("signatures", pa.int64()),
        ("bytes", pa.int64()),
        ("readers", pa.int64()),
    ]
)


def show_synopses(context: Context) -> pa.Table:
    """A table with a row for each synopsis: the stream or the join that it is of, the number of its plan, how many
    panes of which length the longest window has, the groups, signatures and bytes that are kept, and how many
    queries read it."""
    records = [record for record in context.catalog.queries() if record.group is not None]
    readers = Counter(record.group for record in records)
    rows = []
    for record in {record.group: record for record in records}.values():
        node = context.registered.physical_plan(record).plan
        if isinstance(node, Synopsis):
            (stream,) = streams_of(node)
            kept = kept_of_synopsis(record.running, group_by_of(node), context)
            row = {"name": stream, "number": record.plan_number, "kind": node.form, "panes": panes_of(node)}
            row |= {"pane": window_of(node).slide_us, "groups": kept.groups}
            row |= {"signatures": kept.signatures, "bytes": kept.bytes}
            rows.append(row | {"readers": readers[record.group]})
        elif isinstance(node, JoinSynopsis):
            streams = [stream for side in joined_of(node).children for stream in streams_of(side)]
            kept = kept_of_synopsis(record.running, joined_group_by_of(node), context)
            row = {"name": " ⋈ ".join(streams), "number": record.plan_number, "kind": "cells"}
            row |= {"panes": max(cells_of(node)), "pane": pane_of(node), "groups": kept.groups}
            row |= {"signatures": kept.signatures, "bytes": kept.bytes}
            rows.append(row | {"readers": readers[record.group]})
    return pa.Table.from_pylist(rows, _SCHEMA)
