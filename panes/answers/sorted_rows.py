"""The rows of an answer in the order in which its query says they are read."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.delta.orders import places_in_order
from panes.plan.nodes import Node
from panes.plan.order_of_answer import order_of
from panes.plan.sort_key import SortKey, total_order


def sorted_rows(rows: pa.Table, plan: Node) -> pa.Table:
    """The rows of the relation of a plan (`relation_of`) as its answer has them: in their order, and without the
    columns that are not shown."""
    order = order_of(plan)
    return (in_order(rows, order) if order else rows).select(plan.schema.names)


def in_order(rows: pa.Table, order: Sequence[SortKey]) -> pa.Table:
    """The rows by the keys, and those that agree on them by all other columns."""
    return rows.take(places_in_order(rows, total_order(order, rows.column_names)))
