"""Every departure as a negative tuple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, TS, UNTIL, WEIGHT, Delta, Instants
from panes.delta.rows import concat, int64, take, where, with_column, without
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_for_expiry
from panes.state.buffers.chunked import sum_weights


@dataclass
class ExplicitExpiry(Operator):
    """Turns lifetimes that end at a known time into negative tuples at that time.

    It stands above every window under the strategy `nt`, and under `upa` above a negation from which many
    rows leave early.

    Output: each row without an end, and its negative tuple when it expires. STRICT.
    State: the live rows by expiry; a row that is taken back early cancels the negative tuple to come.
    Cost: constant per row, twice: when it comes and when it goes.
    """

    edge: Edge
    live: Calendar = field(init=False)

    def __post_init__(self) -> None:
        self.live = choose_for_expiry(
            None,
            "rows are retracted at a known time in any order",
            combine=sum_weights,
            calendar_days=self.edge.calendar_days,
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"live": self.live}

    @cached_property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.edge.derived(self.edge.schema, Pattern.STRICT, has_until=self.edge.has_until)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        table = with_column(delta.table, WEIGHT, delta.weight).select(self.output.columns.names)
        exp = delta.exp
        ended = self.live.expire(clock, since)
        parts = [self._endless(table, delta.ts, delta.weight)]
        gone = where(exp <= clock)
        if len(gone):
            parts.append(self._endless(take(table, gone), exp[gone], -delta.weight[gone]))
        if ended.num_rows:
            parts.append(self._endless(ended, int64(ended, EXP), -int64(ended, WEIGHT)))
        later = where((exp > clock) & (exp < FOREVER))
        self.live.insert(take(without(table, TS), later))
        return Delta(concat(parts), clock)

    def _endless(self, rows: pa.Table, ts: Instants, weight: Instants) -> pa.Table:
        arrays = [rows.column(name) for name in self.edge.schema.names]
        arrays += [pa.array(ts), pa.array(np.full(len(ts), FOREVER)), pa.array(weight)]
        if self.edge.has_until:
            arrays.append(rows.column(UNTIL))
        return pa.Table.from_arrays(arrays, schema=self.output.columns)
