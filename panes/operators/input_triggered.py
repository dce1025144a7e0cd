"""A dataflow in which time reaches an operator with the tuples that come to it, and in no other way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, Delta
from panes.delta.rows import int64, take, where, with_column
from panes.operators.dataflow import Dataflow
from panes.operators.release_on_time import ReleaseOnTime
from panes.state.buffers.base import State
from panes.state.buffers.own_clocks import OwnClocks

_ANSWER = -1
"""The number under which the clock of the answer is kept."""


@dataclass
class InputTriggered(Dataflow):
    """Every operator that keeps state has a clock of its own: the time of the newest tuple that it has received.
    What is to expire later than that stays, also in the answer, whose clock is the time of its newest change.

    So nothing happens without a tuple, and an answer is as late as tuples are rare where it is made. It is the
    answer at its own clock where no operator with state gets its tuples from another one; where one does, rows
    that the lower one gives late count from the moment at which they come.
    """

    _clocks: OwnClocks = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._clocks = OwnClocks("each operator goes by its newest tuple")

    @property
    def buffers(self) -> Mapping[str, State]:
        return {**super().buffers, f"{self.fragment.steps[-1].name}.clocks": self._clocks}

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> Delta:
        self._moved = self._clocks.clocks
        delta = super().process(arrivals, since, clock)
        before = self.told_to(since)
        (delta,) = _after([delta], before)
        told = self._moved[_ANSWER] = _newest([delta], before, clock)
        self._clocks.keep(self._moved)
        return Delta(delta.table, told)

    def told_to(self, since: int) -> int:  # noqa: ARG002
        return self._clocks.clocks.get(_ANSWER, BEGINNING)

    def next_change(self, clock: int) -> int:
        """When the next row that came before its time is due: nothing else happens without arrivals."""
        sources = (self.operators[number] for number in sorted(self._sources))
        return min((source.next_change(clock) for source in sources), default=FOREVER)

    def _through(self, number: int, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        operator = self.operators[number]
        if not operator.buffers or number in self._sources:
            return operator.process(inputs, since, clock)
        own = self._moved.get(number, BEGINNING)
        inputs = _after(inputs, own)
        self._moved[number] = _newest(inputs, own, clock)
        return operator.process(inputs, own, self._moved[number])

    @cached_property
    def _sources(self) -> frozenset[int]:
        """The steps that let the tuples of streams in when their time has come."""
        above_state: set[int] = set()
        found: set[int] = set()
        for number, (step, operator) in enumerate(zip(self.fragment.steps, self.operators, strict=True)):
            if above_state.intersection(step.inputs):
                above_state.add(number)
            elif isinstance(operator, ReleaseOnTime):
                found.add(number)
            elif operator.buffers:
                above_state.add(number)
        return frozenset(found)


def _after(deltas: Sequence[Delta], own: int) -> list[Delta]:
    """The same, with what lies before a clock put off until just after it; what has ended by then is left out."""
    found = []
    for delta in deltas:
        if delta.rows and delta.ts.min() <= own:
            rows = with_column(delta.table, TS, np.maximum(delta.ts, own + 1))
            alive = where(int64(rows, TS) < int64(rows, EXP))
            found.append(Delta(take(rows, alive), delta.clock))
        else:
            found.append(delta)
    return found


def _newest(deltas: Sequence[Delta], own: int, clock: int) -> int:
    """The time of the newest tuple, which a change of a table that is to come is not."""
    times = [int(ts.max()) for delta in deltas if len(ts := delta.ts[delta.ts <= clock])]
    return max([own, *times])
