"""Updating the rows of a table for which a condition is true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import WEIGHT
from panes.delta.evaluate import evaluate, mask_of
from panes.delta.rows import int64, take, where, with_column
from panes.language.binder.bind_table_updates import BoundUpdate
from panes.plan.expressions import Expression
from panes.tables.constraints import check_keys_after, check_not_null
from panes.tables.net_change import net_change
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
    gone = with_column(old, WEIGHT, -int64(old, WEIGHT))
    change = net_change(definition, [gone, new, *besides])
    if any(name in definition.primary_key for name, _ in assignments):
        entered = take(change, where(int64(change, WEIGHT) > 0))
        check_keys_after(definition, contents.applied(change).with_keys(entered))
    return TableChange(change, RowCounts(updated=int(int64(old, WEIGHT).sum())))
