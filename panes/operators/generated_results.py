"""The stream of the results that a relation generates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.delta import ALWAYS, EXP, FOREVER, TS, Delta
from panes.delta.rows import take
from panes.operators.base import Operator


@dataclass
class GeneratedResults(Operator):
    """Every result of a relation whose results count one by one, when it is generated.

    A result counts although an equal one expires at the same instant, which Istream would take for no change.
    So it must not see expirations as negative tuples: below it windows give known lifetimes, whatever the
    strategy.

    Output: one row without end for each copy of a row that comes; what is taken back is no news, and neither is
        what was always there, like the first rows of a table. MONOTONIC.
    State: none.
    Cost: constant per row.
    """

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        delta = delta.filter(delta.ts > ALWAYS)
        values, ts = delta.values, delta.ts
        if delta.is_weighted:
            copies = np.repeat(np.arange(delta.rows), np.maximum(delta.weight, 0))
            values, ts = take(values, copies), ts[copies]
        values = values.append_column(TS, pa.array(ts))
        return Delta(values.append_column(EXP, pa.array(np.full(len(ts), FOREVER))), clock)
