"""SHOW SYNOPSES: the synopses that aggregates over one stream, or over a join of two, share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from panes.plan.nodes import GroupBy, JoinSynopsis, Synopsis
from panes.plan.walk import streams_of
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import PANES
from panes.statements.context import Context
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
        ("bytes", pa.int64()),
        ("readers", pa.int64()),
    ]
)


def show_synopses(context: Context) -> pa.Table:
    """A table with a row for each synopsis: the stream or the join that it is of, the number of its plan, how many
    panes of which length the longest window has, the groups and bytes that are kept, and how many queries read
    it."""
    records = [record for record in context.catalog.queries() if record.group is not None]
    readers = Counter(record.group for record in records)
    rows = []
    for record in {record.group: record for record in records}.values():
        node = context.registered.physical_plan(record).plan
        if isinstance(node, Synopsis):
            (stream,) = streams_of(node)
            groups, size = _kept(record.running, group_by_of(node), context)
            row = {"name": stream, "number": record.plan_number, "kind": node.form, "panes": panes_of(node)}
            row |= {"pane": window_of(node).slide_us, "groups": groups, "bytes": size}
            rows.append(row | {"readers": readers[record.group]})
        elif isinstance(node, JoinSynopsis):
            streams = [stream for side in joined_of(node).children for stream in streams_of(side)]
            groups, size = _kept(record.running, joined_group_by_of(node), context)
            row = {"name": " ⋈ ".join(streams), "number": record.plan_number, "kind": "cells"}
            row |= {"panes": max(cells_of(node)), "pane": pane_of(node), "groups": groups, "bytes": size}
            rows.append(row | {"readers": readers[record.group]})
    return pa.Table.from_pylist(rows, _SCHEMA)


def _kept(running: int, group_by: GroupBy, context: Context) -> tuple[int, int]:
    """The number of groups, and the bytes, of what the last epoch has of a synopsis."""
    latest = context.connection.log.latest()
    ran = None if latest is None else latest.queries.get(running)
    if ran is None:
        return 0, 0
    keys = list(group_by.keys)
    open_segments = context.connection.readers.segments
    shards = range(ran.answer.shards(ran.spread))
    chunks = [chunk for s in shards for chunk in open_segments.chunks(ran.answer, s, ran.epoch)[PANES]]
    return _groups(keys, chunks), ran.bytes


def _groups(keys: list[str], chunks: Sequence[Chunk]) -> int:
    if not chunks or not keys:
        return len(chunks[:1])
    return pl.concat([pl.DataFrame(chunk.table.select(keys)) for chunk in chunks]).n_unique()
