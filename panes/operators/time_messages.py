"""A dataflow in which an operator hears of time when rows of its inputs expire, and not otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, FOREVER, WEIGHT, Delta, Instants
from panes.delta.hashing import hash_rows
from panes.delta.rows import concat, int64, where
from panes.operators.dataflow import Dataflow
from panes.operators.input import Entry
from panes.operators.measures import Measures
from panes.operators.pre_aggregate import PreAggregate
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_for_expiry
from panes.state.buffers.chunked import sum_weights

_STEP = "_step"
_ANSWER = -1
"""The number under which the rows of the answer are counted."""
_NONE: Instants = np.zeros(0, np.int64)


@dataclass
class TimeMessages(Dataflow):
    """An operator that keeps rows is run in a span when rows or time messages came to it, and left out else.

    A time message is an instant at which rows of an edge expire: the receiver lets go of what it made of them. It
    is sent once for an instant, however many rows expire, and not at all where none does. So what gives rows to an
    operator that keeps some, or to the answer, counts them by their `_exp`. As a result of a join expires with the
    first of its two rows, these counts are the reference counts of a join of windows, added up by instant; of a
    join with a table they tell the instants at which tuples that joined expire.

    On a STRICT edge a row that is taken back before its time is subtracted. A negation may also take a row away
    until a certain instant, and at that instant some other row may expire. One must not make up for the other, so
    there each row counts as the hash of its values: the sum for an instant is zero when nothing happens then.

    Time starts where rows enter the fragment, and at operators that act at instants of their own (`keeps_time`).
    Every other operator that keeps rows passes on what it hears: it sends messages only when it was run. Operators
    without state are one with what is below them. What is given is the same as where all operators are run.
    """

    _counts: Calendar = field(init=False)
    """What the rows that expire at each instant to come add up to (`_weight`), by the step that gave them."""
    _nothing: dict[int, pa.Table] = field(default_factory=dict, init=False)
    """What steps without state make of no rows."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._counts = choose_for_expiry(
            None, "a message is sent when counted rows expire", combine=sum_weights
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {**super().buffers, f"{self.fragment.steps[-1].name}.messages": self._counts}

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> Delta:
        self._due = _by_step(self._counts.expire(clock, since))
        self._later: list[pa.Table] = []
        self._has_time: dict[int, bool] = {}
        self._was_run: dict[int, bool] = {}
        self._sent: dict[int, Instants] = {}
        delta = super().process(arrivals, since, clock)
        has_time = self._has_time[len(self.operators) - 1]
        self.told_answer = len(self._messages(_ANSWER, delta)) if has_time else 0
        if self._later:
            self._counts.insert(concat(self._later))
        return delta

    def next_change(self, clock: int) -> int:
        """When the next message is due, or the next operator that has instants of its own."""
        timed = (operator.next_change(clock) for operator in self.operators if operator.keeps_time)
        return min([self._counts.next_expiry(clock), *timed])

    def _through(self, number: int, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        step, operator = self.fragment.steps[number], self.operators[number]
        runs = since == BEGINNING or any(delta.rows for delta in inputs) or self._heard(number) > 0
        runs = runs or (operator.keeps_time and operator.next_change(since) <= clock)
        self._was_run[number] = runs
        if isinstance(operator, Entry) or operator.keeps_time:
            self._has_time[number] = True
        elif operator.buffers:
            self._has_time[number] = runs
        else:
            self._has_time[number] = any(self._has_time[place] for place in step.inputs)
        output = operator.process(inputs, since, clock) if runs else self._empty(number, inputs, since, clock)
        if number in self._heard_of and self._has_time[number]:
            # The values of partial sums do not tell which of them one takes back.
            rows = inputs[0] if isinstance(operator, PreAggregate) else output
            self._sent[number] = self._messages(number, rows)
        return output

    def _empty(self, number: int, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        """What a step gives that is left out."""
        if number not in self._nothing:
            if self.operators[number].buffers:
                self._nothing[number] = self.fragment.steps[number].output.columns.empty_table()
            else:
                # Partial sums have other columns than their edge.
                self._nothing[number] = self.operators[number].process(inputs, since, clock).table
        return Delta(self._nothing[number], clock)

    def _measured(self, number: int, inputs: Sequence[Delta], output: Delta, began: int) -> Measures:
        found = super()._measured(number, inputs, output, began)
        return replace(found, messages=self._heard(number), spans=int(self._was_run[number]))

    def _heard(self, number: int) -> int:
        """How many messages come to a step in this span."""
        if not self._listens(number):
            return 0
        return sum(len(self._sent.get(place, _NONE)) for place in self.fragment.steps[number].inputs)

    def _listens(self, number: int) -> bool:
        operator = self.operators[number]
        return bool(operator.buffers) and not operator.keeps_time

    @cached_property
    def _heard_of(self) -> frozenset[int]:
        """The steps whose rows are counted: those that give them to an operator that listens."""
        steps = enumerate(self.fragment.steps)
        return frozenset(place for number, step in steps if self._listens(number) for place in step.inputs)

    def _messages(self, number: int, delta: Delta) -> Instants:
        """The instants of the span at which rows of a step expire; what expires later is counted until then."""
        rows = delta.filter(delta.exp < FOREVER) if delta.rows else delta
        weight = rows.weight
        if rows.is_weighted:
            hashes = hash_rows(rows.values, rows.values.column_names).view(np.int64)
            weight = weight * (hashes | 1)  # no row counts as zero
        exp, weight = _summed(rows.exp, weight)
        later = exp > delta.clock
        if later.any():
            step = np.full(np.count_nonzero(later), number)
            self._later.append(pa.table({_STEP: step, EXP: exp[later], WEIGHT: weight[later]}))
        due, due_weight = self._due.get(number, (_NONE, _NONE))
        return _summed(np.append(due, exp[~later]), np.append(due_weight, weight[~later]))[0]


def _by_step(due: pa.Table) -> dict[int, tuple[Instants, Instants]]:
    """The instants that were counted for each step, and what their rows add up to."""
    if not due.num_rows:
        return {}
    step, exp, weight = (int64(due, name) for name in (_STEP, EXP, WEIGHT))
    return {int(number): (exp[step == number], weight[step == number]) for number in np.unique(step)}


def _summed(exp: Instants, weight: Instants) -> tuple[Instants, Instants]:
    """Each instant once, with the sum of its weights; those whose sum is zero are left out."""
    if not len(exp):
        return exp, weight
    order = np.argsort(exp, kind="stable")
    exp = exp[order]
    starts = where(np.append(True, exp[1:] != exp[:-1]))
    total = np.add.reduceat(weight[order], starts)
    kept = where(total != 0)
    return exp[starts[kept]], total[kept]
