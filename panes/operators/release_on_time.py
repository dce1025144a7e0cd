"""Rows that came before their time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import consolidate
from panes.delta.delta import CAME, EXP, TS, Delta, Instants, first_seen
from panes.delta.rows import without
from panes.delta.zeros import with_unsigned_zeros
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_waiting
from panes.state.buffers.timer_queue import TimerQueue

_END = "_end"


@dataclass
class ReleaseOnTime(Operator):
    """Brings rows of any `_ts` into the spans they belong to, and -0.0 to 0.0: all that arrives passes here.

    Output: a row of the future when its time has come; a late row from the first instant of the span that it
        came in;
        nothing for a row that ended before it could be seen. The pattern of the input stays.
    State: the rows of the future, by their time.
    Cost: the rows that come and the rows that fall due; those that wait are not touched.
    """

    keeps_time: ClassVar[bool] = True
    edge: Edge
    """Of the rows that come, which is that of those that leave."""
    cancels: bool = False
    """Whether a row and its retraction may fall due at the same instant: neither is then given."""
    waiting: TimerQueue = field(init=False)
    """The instant that its rows wait for is their `_ts`; what was their `_exp` is in `_end`."""

    def __post_init__(self) -> None:
        schema = _to_wait(self.edge.columns.empty_table()).schema
        self.waiting = choose_for_waiting(schema, "rows beyond the clock wait for it")

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"waiting": self.waiting}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        table, ts = with_unsigned_zeros(delta.table), first_seen(delta.table, since)
        if (ts > delta.ts).any():
            table = _with_ts(table, ts)
        table = without(table, CAME)
        gone = delta.exp <= ts
        if gone.any():
            self.dropped += int(np.count_nonzero(gone))
            table, ts = table.filter(pa.array(~gone)), ts[~gone]
        due = self.waiting.due(since, clock)
        future = ts > clock
        if future.any():
            self.waiting.insert(_to_wait(table.filter(pa.array(future))))
            table = table.filter(pa.array(~future))
        if due.num_rows:
            table = pa.concat_tables([_from_wait(due).select(table.column_names), table])
        given = Delta(table, clock)
        return consolidate(given) if self.cancels else given


def _to_wait(table: pa.Table) -> pa.Table:
    names = {EXP: _END, TS: EXP}
    return table.rename_columns([names.get(name, name) for name in table.column_names])


def _from_wait(table: pa.Table) -> pa.Table:
    names = {_END: EXP, EXP: TS}
    return table.rename_columns([names.get(name, name) for name in table.column_names])


def _with_ts(table: pa.Table, ts: Instants) -> pa.Table:
    return table.set_column(table.column_names.index(TS), TS, pa.array(ts))
