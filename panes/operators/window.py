"""Time windows: a stream's tuples get the lifetime during which the window holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.delta import CAME, EXP, FOREVER, TS, UNTIL, Delta, first_seen
from panes.delta.rows import without
from panes.operators.base import Operator
from panes.plan.windows import WindowSpec


@dataclass
class TimeWindow(Operator):
    """`[RANGE d]`, `[RANGE d SLIDE s]`, `[NOW]` and `[RANGE UNBOUNDED]`, also of tuples that bring their own ends.

    Output: every tuple once, with its lifetime; those that no instant of the window sees are left out.
        With SLIDE a lifetime begins and ends at multiples of the slide, and may begin after the clock:
        ReleaseOnTime follows. A tuple that came late is seen from the first instant of the span that
        it came in.
    State: none.
    Cost: constant per tuple.
    """

    spec: WindowSpec
    has_until: bool = False
    """Whether the plan has an INTERNAL window, so that its edges carry `_until`."""

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        ts, exp = self.spec.lifetime_in(delta.table, delta.ts, first_seen(delta.table, since))
        table = without(delta.table, TS, EXP, CAME)
        table = table.append_column(TS, pa.array(ts)).append_column(EXP, pa.array(exp))
        if self.has_until:
            until = np.full(len(exp), FOREVER) if self.spec.internal else exp
            table = table.append_column(UNTIL, pa.array(until))
        seen = ts < exp
        if not seen.all():
            self.dropped += int(len(seen) - seen.sum())
            table = table.filter(pa.array(seen))
        return Delta(table, clock)
