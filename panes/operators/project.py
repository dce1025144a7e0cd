"""Projection, without elimination of duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.delta.delta import HIDDEN, Delta
from panes.delta.evaluate import evaluate
from panes.operators.base import Operator
from panes.plan.expressions import Expression


@dataclass
class Project(Operator):
    """Computes the columns of each row.

    Output: one row for each row, with the same lifetime and weight.
    State: none.
    Cost: one evaluation of each expression over the delta.
    """

    columns: tuple[tuple[str, Expression], ...]

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        columns = {name: evaluate(expression, delta.table) for name, expression in self.columns}
        for hidden in HIDDEN:
            if hidden in delta.table.column_names:
                columns[hidden] = delta.table.column(hidden)
        return Delta(pa.table(columns), clock)
