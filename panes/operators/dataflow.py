"""A fragment of a plan at work: operators in the order in which deltas pass them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time_ns

import pyarrow as pa

from panes.delta.consolidate import consolidate
from panes.delta.delta import EXP, FOREVER, UNTIL, Delta
from panes.operators.base import Operator
from panes.operators.input import Entry
from panes.operators.measures import Measures, counted
from panes.operators.physical_step import Fragment, PhysicalStep
from panes.operators.tools.edge import Edge
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.state.buffers.base import State


@dataclass
class Dataflow:
    """Takes what arrived during a span to the delta of the fragment's output, and measures every step.

    All that it remembers is in `buffers`: a dataflow made from the same fragment in another process, whose
    buffers are given the chunks of this one's, goes on as this one would.
    """

    fragment: Fragment
    operators: Sequence[Operator] = field(init=False)
    inputs: Mapping[str, Schema] = field(init=False)
    """The columns that each input expects, without `_ts`."""
    measures: dict[str, Measures] = field(init=False)
    """What each step has done, by its name."""
    told_answer: int = field(default=1, init=False)
    """With how many messages the answer heard of time in the last span: its delta carries the clock."""

    def __post_init__(self) -> None:
        self.operators = [step.make() for step in self.fragment.steps]
        self.measures = {step.name: Measures() for step in self.fragment.steps}
        self.inputs = {}
        for operator in self.operators:
            if isinstance(operator, Entry):
                have = self.inputs.get(operator.name, Schema(()))
                more = tuple(f for f in operator.arriving.fields if f.name not in have)
                self.inputs[operator.name] = Schema(have.fields + more)

    @property
    def pattern(self) -> Pattern:
        return self.fragment.pattern

    @property
    def edge(self) -> Edge:
        return self.fragment.edge

    @property
    def output(self) -> Schema:
        return self.fragment.output

    @property
    def buffers(self) -> Mapping[str, State]:
        return {
            f"{step.name}.{name}": state
            for step, operator in zip(self.fragment.steps, self.operators, strict=True)
            for name, state in operator.buffers.items()
        }

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> Delta:
        """The change of the answer over `(since, clock]`; an input that is not named had no arrivals."""
        unknown = arrivals.keys() - self.inputs.keys()
        if unknown:
            raise KeyError(f"{sorted(unknown)} are not inputs: {sorted(self.inputs)}")
        deltas: list[Delta] = []
        for number, (step, operator) in enumerate(zip(self.fragment.steps, self.operators, strict=True)):
            began = thread_time_ns()
            if isinstance(operator, Entry):
                inputs = [operator.taken_in(arrivals.get(operator.name), clock)]
            else:
                inputs = [deltas[place] for place in step.inputs]
            deltas.append(self._through(number, inputs, since, clock))
            self.measures[step.name] += self._measured(number, inputs, deltas[-1], began)
        for step, operator in zip(self.fragment.steps, self.operators, strict=True):
            rows = sum(state.rows for state in operator.buffers.values())
            told = {"touched": operator.touched, "dropped": operator.dropped, "state_rows": rows}
            self.measures[step.name] = replace(self.measures[step.name], **told, **operator.noted)
        return self._answer(deltas[-1])

    def told_to(self, since: int) -> int:
        """The clock of the answer before a span that begins after `since`."""
        return since

    def _through(self, number: int, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        """What an operator gives in a span: every delta tells it the clock, so all of them go by the same one."""
        return self.operators[number].process(inputs, since, clock)

    def _measured(self, number: int, inputs: Sequence[Delta], output: Delta, began: int) -> Measures:
        """What a step did in a span from the CPU time `began` on, but for its state."""
        return measured(self.fragment.steps[number], inputs, output, began)

    def next_change(self, clock: int) -> int:
        """The first instant after the clock at which something may happen though nothing comes; FOREVER when there
        is none."""
        return min((operator.next_change(clock) for operator in self.operators), default=FOREVER)

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


def measured(step: PhysicalStep, inputs: Sequence[Delta], output: Delta, began: int) -> Measures:
    """What a step did from the CPU time `began` on, but for its state."""
    left_in = inputs[0].rows if len(inputs) > 1 else 0
    rows_in = sum(delta.rows for delta in inputs)
    return measured_rows(rows_in, output, step.pattern, began, left_in=left_in, messages=len(inputs))


def measured_rows(
    rows_in: int, output: Delta, pattern: Pattern, began: int, *, left_in: int = 0, messages: int = 0
) -> Measures:
    """What was done from the CPU time `began` on, on an edge that has this pattern in the logical plan."""
    cpu_us = (thread_time_ns() - began) / 1000
    return counted(
        output, pattern, rows_in=rows_in, cpu_us=cpu_us, spans=1, left_in=left_in, messages=messages
    )
