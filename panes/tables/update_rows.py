"""Updating the rows of a table for which a condition is true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.evaluate import evaluate, mask_of
from panes.delta.keys import equal_rows
from panes.delta.rows import concat, int64, take, where, with_column
from panes.language.binder.bind_table_updates import BoundUpdate
from panes.plan.expressions import Expression
from panes.tables.constraints import check_keys_after, check_not_null
from panes.tables.net_change import net_change, weighted
from panes.tables.row_counts import RowCounts
from panes.tables.rows_where import rows_where
from panes.tables.table_change import TableChange
from panes.tables.table_contents import Contents


def update_rows(contents: Contents, update: BoundUpdate) -> TableChange:
    """Gives the rows new values, all computed from the old ones. Raises Violation when the table takes them not.

    What counts is the table after the whole statement: `SET id = id + 1` may pass over keys that are there.
    """
    return changed_rows(contents, rows_where(contents, update.condition), update.assignments)


def changed_rows(
    contents: Contents,
    rows: pa.Table,
    assignments: Sequence[tuple[str, Expression]],
    condition: Expression | None = None,
    besides: Sequence[pa.Table] = (),
) -> TableChange:
    """The change of rows with `_weight`, where the condition is true; `besides` are changes of the same statement.

    The rows may have more columns than the table, for the expressions to read.
    """
    definition = contents.definition
    if condition is not None:
        rows = take(rows, where(np.asarray(mask_of(condition, rows))))
    old = rows.select([*definition.columns.names, WEIGHT])
    new = old
    for name, value in assignments:
        place = new.schema.get_field_index(name)
        new = new.set_column(place, new.schema.field(name), evaluate(value, rows))
    check_not_null(definition, new, are_given=False)
    counts = RowCounts(updated=int(int64(old, WEIGHT).sum()))
    set_columns = [name for name, _ in assignments]
    if definition.primary_key and not set(set_columns) & set(definition.primary_key):
        # No two of these rows share a key, so only what a row was can cancel out what it becomes.
        places = np.arange(old.num_rows)
        same = equal_rows(old, places, set_columns, new, places, set_columns, nulls_equal=True)
        if same.any():
            old, new = take(old, where(~same)), take(new, where(~same))
        return TableChange(concat([_negative(old), new, *besides]), counts)
    change = net_change(definition, [_negative(old), new, *besides])
    if definition.primary_key:
        entered = take(change, where(int64(change, WEIGHT) > 0))
        there = weighted(contents.with_keys(entered), 1)
        after = net_change(definition, [change, there])
        check_keys_after(definition, take(after, where(int64(after, WEIGHT) > 0)))
    return TableChange(change, counts)


def _negative(rows: pa.Table) -> pa.Table:
    return with_column(rows, WEIGHT, -int64(rows, WEIGHT))
