"""What enters and what leaves a relation, instant by instant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.consolidate import AT, CHANGE, changes_of
from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS, WEIGHT, Delta
from panes.operators.base import Operator
from panes.plan.schema import Schema
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_waiting
from panes.state.buffers.timer_queue import TimerQueue


@dataclass
class OutputStream(Operator):
    """The base of Istream and Dstream: how the multiplicity of each value changes at each instant.

    A value that leaves and comes back at the same instant does not change. What was always there never entered.

    Output: one row without end for each copy of a value that enters (or leaves); MONOTONIC.
    State: the rows that are still to expire, by their expiry.
    Cost: a grouped pass over what comes and what expires.
    """

    schema: Schema
    leaving: TimerQueue = field(init=False)

    def __post_init__(self) -> None:
        fields = [*self.schema.arrow, pa.field(EXP, pa.int64()), pa.field(WEIGHT, pa.int64())]
        self.leaving = choose_for_waiting(pa.schema(fields), "rows are counted down when they leave")

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"leaving": self.leaving}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        weight, exp = delta.weight, delta.exp
        rows = delta.values.append_column(EXP, pa.array(exp)).append_column(WEIGHT, pa.array(weight))
        going = self.leaving.due(since, clock)
        self.leaving.insert(rows.filter(pa.array((exp > clock) & (exp < FOREVER))))
        # What ends after the span counts when its time comes.
        rows = rows.set_column(
            rows.column_names.index(EXP), EXP, pa.array(np.where(exp > clock, FOREVER, exp))
        )
        rows = rows.append_column(TS, pa.array(delta.ts))
        ended = going.set_column(
            going.column_names.index(EXP), EXP, pa.array(np.full(going.num_rows, FOREVER))
        )
        ended = ended.set_column(
            ended.column_names.index(WEIGHT), WEIGHT, pa.array(-going.column(WEIGHT).to_numpy())
        ).append_column(TS, going.column(EXP))
        changes = changes_of(pa.concat_tables([rows, ended.select(rows.column_names)]))
        if since == BEGINNING:
            changes = changes.filter(pa.array(changes.column(AT).to_numpy() > ALWAYS))
        return Delta(self._repeated(changes), clock)

    def _repeated(self, changes: pa.Table) -> pa.Table:
        copies = np.maximum(self._copies(changes.column(CHANGE).to_numpy()), 0)
        places = np.repeat(np.arange(len(copies)), copies)
        rows = changes.select(self.schema.names).take(pa.array(places))
        at = changes.column(AT).to_numpy()[places]
        return rows.append_column(TS, pa.array(at)).append_column(EXP, pa.array(np.full(len(at), FOREVER)))

    @abstractmethod
    def _copies(self, change: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many rows a change of the multiplicity gives; none when it is not above zero."""
