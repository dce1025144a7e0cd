"""Rows that are always there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, UNTIL, Delta
from panes.operators.base import Operator
from panes.plan.nodes import Values


@dataclass
class Constant(Operator):
    """Gives the rows of VALUES.

    Output: all rows, in the first span. They never leave.
    State: none. What comes before all else is told by the span.
    Cost: constant.
    """

    node: Values
    has_until: bool = False

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        is_first = since == BEGINNING and clock > BEGINNING
        rows = self.node.rows if is_first else ()
        schema = self.node.schema.arrow
        columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(schema)]
        hidden = {TS: ALWAYS, EXP: FOREVER} | ({UNTIL: FOREVER} if self.has_until else {})
        times = [pa.array(np.full(len(rows), at, np.int64)) for at in hidden.values()]
        return Delta(pa.table([*columns, *times], names=[*schema.names, *hidden]), clock)
