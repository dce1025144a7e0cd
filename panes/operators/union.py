"""Merge union."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, CAME, EXP, UNTIL, WEIGHT, Delta
from panes.operators.base import Operator
from panes.plan.schema import Schema


@dataclass
class Union(Operator):
    """All rows of both inputs (UNION ALL).

    Output: the rows of both sides, under the names of the left; it is as hard as the harder side.
    State: none.
    Cost: constant: columns are appended, not copied.
    """

    schema: Schema

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        hidden = [name for name in (UNTIL, WEIGHT, CAME) if any(name in d.table.column_names for d in inputs)]
        parts = []
        for delta in inputs:
            names = dict(zip(delta.values.column_names, self.schema.names, strict=True))
            table = delta.table.rename_columns([names.get(n, n) for n in delta.table.column_names])
            if UNTIL in hidden and UNTIL not in table.column_names:
                table = table.append_column(UNTIL, table.column(EXP))
            if WEIGHT in hidden and WEIGHT not in table.column_names:
                table = table.append_column(WEIGHT, pa.array(np.ones(table.num_rows, np.int64)))
            if CAME in hidden and CAME not in table.column_names:
                table = table.append_column(CAME, pa.array(np.full(table.num_rows, BEGINNING)))
            parts.append(table)
        return Delta(pa.concat_tables([p.select(parts[0].column_names) for p in parts]), clock)
