"""Inserting rows into a table, and what becomes of those whose primary key is there already."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.keys import group_rows
from panes.delta.rows import Positions, int64, take, where
from panes.language.binder.bind_table_updates import EXCLUDED, OnConflict
from panes.language.statements import CreateTable
from panes.plan.expressions import Column
from panes.state.buffers.chunked import cluster, matching
from panes.tables.constraints import check_given_keys, check_not_null, refuse_conflict
from panes.tables.net_change import net_change, weighted
from panes.tables.row_counts import RowCounts
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents
from panes.tables.update_rows import changed_rows

_GIVEN = "_given"


def insert_rows(contents: Contents, rows: pa.Table, conflict: OnConflict | None = None) -> TableChange:
    """Inserts rows in the types of the columns. Raises Violation, with the first row that the table does not take.

    No two given rows have one primary key, unless nothing is to be done about conflicts: then the first counts.
    """
    definition = contents.definition
    check_not_null(definition, rows, are_given=True)
    if not definition.primary_key:
        return TableChange(net_change(definition, [weighted(rows, 1)]), RowCounts(inserted=rows.num_rows))
    does_nothing = conflict is not None and not conflict.assignments
    if does_nothing:
        rows = take(rows, _first_of_keys(definition, rows))
    else:
        check_given_keys(definition, rows)
    there = contents.with_keys(rows)
    if not there.num_rows:
        return TableChange(weighted(rows, 1), RowCounts(inserted=rows.num_rows))
    given_at, there_at = _pairs(definition, rows, there)
    if conflict is None:
        refuse_conflict(definition, rows, int(given_at.min()))
    is_new = np.ones(rows.num_rows, np.bool_)
    is_new[given_at] = False
    inserted = weighted(take(rows, where(is_new)), 1)
    if does_nothing:
        return TableChange(inserted, RowCounts(inserted=inserted.num_rows))
    old = take(there, there_at)
    excluded = take(rows, given_at)
    excluded = excluded.rename_columns([f"{EXCLUDED}.{name}" for name in excluded.column_names])
    both = pa.Table.from_arrays(
        [*old.columns, *excluded.columns], [*old.column_names, *excluded.column_names]
    )
    change = changed_rows(contents, weighted(both, 1), conflict.assignments, conflict.condition, [inserted])
    return TableChange(change.rows, RowCounts(inserted.num_rows, change.counts.updated))


def overwrite(definition: CreateTable) -> OnConflict:
    """Lets a row take the place of the one that has its primary key."""
    columns = [f for f in definition.columns if f.name not in definition.primary_key]
    # A table of which all columns are the key has the row already: what is assigned is what is there.
    columns = columns or list(definition.columns)
    return OnConflict(tuple((f.name, Column(f.type, f"{EXCLUDED}.{f.name}")) for f in columns))


def _first_of_keys(definition: CreateTable, rows: pa.Table) -> Positions:
    """The first row of each primary key."""
    groups = group_rows(rows, definition.primary_key)
    return np.sort(np.minimum.reduceat(groups.order, groups.starts)) if rows.num_rows else groups.order


def _pairs(definition: CreateTable, rows: pa.Table, there: pa.Table) -> tuple[Positions, Positions]:
    """The positions of given rows and of rows of the table that have one primary key."""
    key = list(definition.primary_key)
    given, stored = (
        cluster(table.select(key).append_column(_GIVEN, pa.array(np.arange(table.num_rows))), key)
        for table in (rows, there)
    )
    given_at, _, stored_at = matching(given, key, stored, key, nulls_equal=False)
    return int64(given, _GIVEN)[given_at], int64(stored, _GIVEN)[stored_at]
