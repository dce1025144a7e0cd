"""Tuples of a stream with their columns as a plan calls them."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import CAME, TS
from panes.delta.zeros import with_unsigned_zeros
from panes.plan.nodes import TIME, Node, StreamScan


def named_rows(node: Node, rows: pa.Table) -> pa.Table:
    """The tuples with the columns of a scan, or of a projection of one that was computed before, with `_ts` and,
    where there is one, `_came`."""
    columns = {}
    for name, type_ in zip(node.schema.names, node.schema.types, strict=True):
        column = rows.column(name if name in rows.column_names else _bare(node, name))
        columns[name] = column if column.type == type_.arrow else column.cast(type_.arrow)
    columns |= {name: rows.column(name) for name in (TS, CAME) if name in rows.column_names}
    return with_unsigned_zeros(pa.table(columns)).combine_chunks()


def _bare(node: Node, name: str) -> str:
    """What the stream itself calls a column."""
    while not isinstance(node, StreamScan):
        (node,) = node.children
    attribute = node.attribute(name)
    return TS if attribute == TIME else attribute
