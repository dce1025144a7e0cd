"""Conditions on the instant of the answer, as bounds on lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.delta import EXP, FOREVER, TS, Delta, Instants
from panes.delta.evaluate import evaluate
from panes.delta.rows import with_column
from panes.operators.base import Operator
from panes.plan.expressions import Expression
from panes.plan.windows import BEGINNING, round_up


@dataclass
class TemporalFilter(Operator):
    """`value <op> τ + distance`: true from one instant on, until another one, or both.

    Output: each row for the part of its lifetime in which the condition holds, none where there is no such part.
        A retraction is cut as the row that it takes back. A lifetime may begin after the clock: a ReleaseOnTime
        follows, which cancels what comes and leaves together.
    State: none.
    Cost: one evaluation of the value over the delta.
    """

    value: Expression
    op: str
    distance_us: int
    slides: tuple[int, ...] = ()
    """The slides at which the relation changes: the condition is tested at these alone."""

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        if not delta.rows:
            return delta
        found = evaluate(self.value, delta.table)
        is_known = pc.is_valid(found)
        table = delta.table.filter(is_known)
        at = pc.drop_null(found).cast(pa.int64()).to_numpy(zero_copy_only=False) - self.distance_us
        begins, ends = self._true(at)
        ts = np.maximum(table.column(TS).to_numpy(), begins)
        exp = np.minimum(table.column(EXP).to_numpy(), ends)
        table = with_column(with_column(table, TS, ts), EXP, exp)
        return Delta(table.filter(pa.array(ts < exp)), clock)

    def _true(self, at: Instants) -> tuple[Instants, Instants]:
        """From when until when the condition holds, where both sides are equal at these instants."""
        begins, ends = np.full(len(at), BEGINNING), np.full(len(at), FOREVER)
        match self.op:
            case "lt":
                begins = self._next(at + 1)
            case "le":
                begins = self._next(at)
            case "gt":
                ends = self._next(at)
            case "ge":
                ends = self._next(at + 1)
            case "eq":
                begins, ends = self._next(at), self._next(at + 1)
        return begins, ends

    def _next(self, instants: Instants) -> Instants:
        """The first instants, not before these, at which the condition is tested."""
        if not self.slides:
            return instants
        found: Instants = np.min([round_up(instants, slide) for slide in self.slides], axis=0)
        return found
