"""A plan at work: operators in the order in which deltas pass them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from panes.delta.consolidate import consolidate
from panes.delta.delta import EXP, UNTIL, Delta
from panes.operators.base import Counters, Operator
from panes.operators.input import Entry
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.state.buffers.base import State


@dataclass(frozen=True)
class Step:
    """One operator, the steps whose output it reads, and the name it goes by."""

    name: str
    operator: Operator
    inputs: Sequence[int] = ()


@dataclass
class Dataflow:
    """Takes what arrived during a span to the delta of the plan's answer.

    All that it remembers is in `buffers`: a dataflow lowered from the same plan in another process, whose
    buffers are given the chunks of this one's, goes on as this one would.
    """

    steps: Sequence[Step]
    output: Schema
    pattern: Pattern
    edge: Edge
    """What leaves it, for another dataflow that goes on from there."""
    inputs: Mapping[str, Schema] = field(init=False)
    """The columns that each input expects, without `_ts`."""

    def __post_init__(self) -> None:
        self.inputs = {}
        for step in self.steps:
            if isinstance(step.operator, Entry):
                have = self.inputs.get(step.operator.name, Schema(()))
                more = tuple(f for f in step.operator.arriving.fields if f.name not in have)
                self.inputs[step.operator.name] = Schema(have.fields + more)

    @property
    def buffers(self) -> Mapping[str, State]:
        return {
            f"{step.name}.{name}": state
            for step in self.steps
            for name, state in step.operator.buffers.items()
        }

    @property
    def counters(self) -> Mapping[str, Counters]:
        return {step.name: step.operator.counters for step in self.steps}

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> Delta:
        """The change of the answer over `(since, clock]`; an input that is not named had no arrivals."""
        unknown = arrivals.keys() - self.inputs.keys()
        if unknown:
            raise KeyError(f"{sorted(unknown)} are not inputs: {sorted(self.inputs)}")
        deltas: list[Delta] = []
        for step in self.steps:
            if isinstance(step.operator, Entry):
                came = arrivals.get(step.operator.name)
                inputs = [step.operator.arrive(came, clock) if came else step.operator.nothing(clock)]
            else:
                inputs = [deltas[number] for number in step.inputs]
            deltas.append(step.operator.process(inputs, since, clock))
        return self._answer(deltas[-1])

    def _answer(self, delta: Delta) -> Delta:
        """Results of INTERNAL windows stay in the answer until `_until`, while operators let go of their rows
        at `_exp`. So what operators take back is no news, unless rows of the answer can leave unforeseen."""
        if UNTIL not in delta.table.column_names:
            return delta
        place = delta.table.column_names.index(EXP)
        table = delta.table.set_column(place, EXP, delta.table.column(UNTIL)).drop_columns([UNTIL])
        answer = Delta(table, delta.clock)
        # Results that never leave are not added up: one that comes as an equal one goes is one of its own.
        answer = consolidate(answer) if self.pattern is Pattern.STRICT else answer.filter(answer.weight > 0)
        return answer.filter(answer.ts < answer.exp)
