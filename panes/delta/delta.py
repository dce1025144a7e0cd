"""Deltas: what changed on one edge of a plan during a span of time, as Arrow columns.

The meaning of a row `(value, ts, exp, weight)` is: from `ts` until just before `exp`, the relation on this
edge holds the value `weight` times more than the other rows say. So the relation at τ holds each value

    sum of weight over the rows with ts <= τ < exp

times, over all deltas so far, and that number is never negative. This one rule covers everything:

* a tuple of a time window is one row of weight 1, whose `exp` is known when it comes (no second row);
* a tuple that leaves at a time nobody could foresee comes as `(v, ts, FOREVER, 1)` and later, at t, as
  `(v, t, FOREVER, -1)`; one that was to leave at `exp` but leaves before, as `(v, t, exp, -1)`;
* the negative-tuple strategy is the same with `exp = FOREVER` for every row.

A delta of the span `(since, clock]` holds only rows with `since < ts <= clock`. `_weight` is there on
STRICT edges only; without it every weight is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.plan.schema import Schema
from panes.plan.windows import BEGINNING as BEGINNING
from panes.plan.windows import FOREVER as FOREVER
from panes.plan.windows import Instants as Instants

TS = "_ts"
EXP = "_exp"
WEIGHT = "_weight"
UNTIL = "_until"
"""Until when the row stays in the answer, on the edges of plans with INTERNAL windows."""
CAME = "_came"
"""The first instant after the clock when a tuple of a stream came: a query cannot see it earlier. Tuples carry it
up to where they are held until they are seen, if that clock is not the one before the span."""
PANE = "_pane"
"""The number of the pane of a count window that a row is in: where whole panes are made smaller."""
HIDDEN = (TS, EXP, WEIGHT, UNTIL, CAME, PANE)

ALWAYS = BEGINNING + 1
"""The `ts` of a row that was there before anything came, like the one of a group-by without keys."""


@dataclass(frozen=True)
class Delta:
    """The rows of one span, in no particular order, and the instant they are complete to."""

    table: pa.Table
    clock: int

    @classmethod
    def empty(cls, schema: Schema, clock: int, *, weighted: bool = False) -> Delta:
        return cls(delta_schema(schema, weighted=weighted).empty_table(), clock)

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def is_weighted(self) -> bool:
        return WEIGHT in self.table.column_names

    @property
    def ts(self) -> Instants:
        return _int64(self.table, TS)

    @property
    def exp(self) -> Instants:
        return _int64(self.table, EXP)

    @property
    def weight(self) -> Instants:
        return _int64(self.table, WEIGHT) if self.is_weighted else np.ones(self.rows, dtype=np.int64)

    @property
    def values(self) -> pa.Table:
        """The columns of the relation, without the hidden ones."""
        return self.table.drop_columns([c for c in HIDDEN if c in self.table.column_names])

    def filter(self, mask: npt.NDArray[np.bool_]) -> Delta:
        return Delta(self.table.filter(pa.array(mask)), self.clock)


def first_seen(table: pa.Table, since: int) -> Instants:
    """The instants from which on tuples can be seen in a span after `since`: their time, or later when they came
    late."""
    seen = np.maximum(_int64(table, TS), since + 1)
    return np.maximum(seen, _int64(table, CAME)) if CAME in table.column_names else seen


def delta_schema(schema: Schema, *, weighted: bool = False) -> pa.Schema:
    hidden = [pa.field(TS, pa.int64()), pa.field(EXP, pa.int64())]
    if weighted:
        hidden.append(pa.field(WEIGHT, pa.int64()))
    return pa.schema([*schema.arrow, *hidden])


def _int64(table: pa.Table, name: str) -> Instants:
    values: Instants = table.column(name).to_numpy()
    return values
