"""Replacing all rows of a table by others: only what differs is a change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.rows import int64, take, where
from panes.language.statements import CreateTable
from panes.state.buffers.chunked import cluster, matching
from panes.tables.constraints import check_given_keys, check_not_null
from panes.tables.net_change import net_change, weighted
from panes.tables.row_counts import RowCounts
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents


def replace_rows(contents: Contents, rows: pa.Table) -> TableChange:
    """Makes the table hold exactly the given rows. Raises Violation, with the first row that it does not take."""
    definition = contents.definition
    check_not_null(definition, rows, are_given=True)
    if definition.primary_key:
        check_given_keys(definition, rows)
    change = net_change(definition, [weighted(rows, 1), weighted(contents.rows(), -1)])
    weights = int64(change, WEIGHT)
    inserted, deleted = int(weights[weights > 0].sum()), -int(weights[weights < 0].sum())
    updated = _updated(definition, change, weights)
    return TableChange(change, RowCounts(inserted - updated, updated, deleted - updated))


def _updated(definition: CreateTable, change: pa.Table, weights: np.ndarray) -> int:
    """How many primary keys have a row before and another one after."""
    key = list(definition.primary_key)
    if not key:
        return 0
    entered, left = (
        cluster(take(change.select(key), where(mask)), key) for mask in (weights > 0, weights < 0)
    )
    return len(matching(entered, key, left, key, nulls_equal=False)[0])
