"""Net changes: the sum of rows with weights, in which each row stands once, and none with weight zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.grouped import are_first
from panes.delta.hashing import HASH
from panes.delta.keys import group_rows
from panes.delta.rows import concat, int64, take, where, with_column, without
from panes.language.statements import CreateTable
from panes.state.buffers.chunked import cluster
from panes.state.buffers.hash_search import hashes_of


def net_sum(clustered: Sequence[pa.Table]) -> pa.Table:
    """The sum of clustered tables, clustered too: equal rows have equal hashes."""
    table = concat(clustered)
    hashes = hashes_of(table)
    if len(clustered) > 1:
        # The parts are sorted: a stable sort of them all is a merge.
        order = np.argsort(hashes, kind="stable")
        table, hashes = take(table, order), hashes[order]
    # Few rows have a hash that another one has, and only those can be equal.
    again = ~are_first(hashes)
    shares = again.copy()
    shares[:-1] |= again[1:]
    places = where(shares)
    if not len(places):
        return table
    columns = [name for name in table.column_names if name not in (WEIGHT, HASH)]
    groups = group_rows(take(table, places), columns, hashes[places])
    weights = int64(table, WEIGHT).copy()
    totals = np.add.reduceat(weights[places][groups.order], groups.starts)
    weights[places] = 0
    weights[places[groups.first]] = totals
    return take(with_column(table, WEIGHT, weights), where(weights != 0))


def net_change(definition: CreateTable, changes: Sequence[pa.Table]) -> pa.Table:
    """The sum of rows with weights of a table, in any order."""
    names = [*definition.columns.names, WEIGHT]
    changes = [change.select(names) for change in changes if change.num_rows]
    if not changes:
        return no_change(definition)
    return without(net_sum([cluster(concat(changes), key_of(definition))]), HASH)


def no_change(definition: CreateTable) -> pa.Table:
    """A change without rows."""
    return weighted(definition.columns.arrow.empty_table(), 1)


def weighted(rows: pa.Table, weight: int) -> pa.Table:
    """The rows, each with the same weight."""
    return rows.append_column(WEIGHT, pa.array(np.full(rows.num_rows, weight, np.int64)))


def key_of(definition: CreateTable) -> tuple[str, ...]:
    """The columns by which rows are found: the primary key, or all."""
    return definition.primary_key or definition.columns.names
