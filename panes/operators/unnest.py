"""Unnest: a row for each item of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.delta.delta import HIDDEN, Delta
from panes.delta.evaluate import evaluate
from panes.delta.lists import items_of
from panes.delta.rows import take
from panes.operators.base import Operator
from panes.plan.expressions import Expression


@dataclass
class Unnest(Operator):
    """Gives each row once for each item of its list, with the item in a new column.

    Output: for each item the row with the lifetime and weight that it has; none where the list is empty or NULL.
    State: none.
    Cost: one evaluation of the list over the delta, and a copy of each row for each item.
    """

    expression: Expression
    column: str

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        owners, items = items_of(evaluate(self.expression, delta.table))
        rows = take(delta.table, owners)
        columns = {name: rows.column(name) for name in rows.column_names if name not in HIDDEN}
        columns[self.column] = items
        columns |= {name: rows.column(name) for name in HIDDEN if name in rows.column_names}
        return Delta(pa.table(columns), clock)
