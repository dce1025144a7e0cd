"""Selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panes.delta.delta import Delta
from panes.delta.evaluate import mask_of
from panes.operators.base import Operator
from panes.plan.expressions import Expression


@dataclass
class Select(Operator):
    """Keeps the rows for which the condition is true.

    Output: those rows as they are; a retraction passes exactly when the row it takes back did.
    State: none.
    Cost: one evaluation of the condition over the delta.
    """

    predicate: Expression

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        if not delta.rows:
            return delta
        return Delta(delta.table.filter(mask_of(self.predicate, delta.table)), clock)
