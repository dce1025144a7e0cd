"""Rows in an order of their own, so that the same answer looks the same whenever it is printed."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from panes.answers.answer import Answer


def in_order(table: pa.Table) -> pa.Table:
    """The rows sorted by their columns from left to right; lists and structs have no order."""
    keys = [
        (name, "ascending")
        for name, kind in zip(table.column_names, table.schema.types, strict=True)
        if not (pa.types.is_nested(kind) or pa.types.is_null(kind))
    ]
    return table.take(pc.sort_indices(table, sort_keys=keys)) if keys else table


def answer_in_order(answer: Answer) -> pa.Table:
    """The rows of an answer in the order that its query gives them, or in their own when it gives none."""
    return answer.table if answer.is_sorted else in_order(answer.table)
