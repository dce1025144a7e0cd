"""The whole relation, again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from panes.delta.consolidate import contents_at, difference
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT, Delta, Instants
from panes.operators.base import Operator
from panes.plan.schema import Schema
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_for_expiry
from panes.state.buffers.chunked import sum_weights


@dataclass
class Rstream(Operator):
    """Every tuple of the relation at every slide, or at every clock when nothing slides.

    With restore semantics a second input has the tuples that entered since the slide before, at the slide:
    as the oldest of equal tuples leave first, those of them that exceed what the relation holds came and
    went in between, and are given as well.

    Output: at each slide (or clock) one row without end for each copy of a tuple; MONOTONIC.
    State: the relation, by expiry.
    Cost: the size of the relation at every slide, which is the size of the output.
    """

    schema: Schema
    slides_us: Sequence[int]
    relation: Calendar = field(init=False)

    def __post_init__(self) -> None:
        self.relation = choose_for_expiry(
            None, "rows leave at a known time in any order", combine=sum_weights
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"relation": self.relation}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        delta = inputs[0]
        rows = delta.values.append_column(TS, pa.array(delta.ts)).append_column(EXP, pa.array(delta.exp))
        rows = rows.append_column(WEIGHT, pa.array(delta.weight))
        stored = self.relation.live(since)
        alive = rows
        if stored.num_rows:
            stored = stored.append_column(TS, pa.array(np.full(stored.num_rows, since)))
            alive = pa.concat_tables([stored.select(rows.column_names), rows])
        parts = [_at(alive.select(self.schema.names).slice(0, 0), clock)]
        for instant in self._instants(delta, since, clock):
            held = contents_at(alive, instant)
            parts.append(_at(held, instant))
            if len(inputs) > 1:
                entered = inputs[1].filter(inputs[1].ts == instant).values
                parts.append(_at(difference(entered, held), instant))
        self.relation.forget(clock)
        later = rows.filter(pa.array(delta.exp > clock))
        if later.num_rows:
            self.relation.insert(later.drop_columns([TS]))
        return Delta(pa.concat_tables(parts), clock)

    def _instants(self, delta: Delta, since: int, clock: int) -> Instants:
        if clock == since:
            return np.zeros(0, np.int64)
        if not self.slides_us:
            return np.array([clock])
        if since == BEGINNING:
            # Before the first tuple there was nothing to repeat.
            began = delta.ts[delta.ts > BEGINNING + 1]
            since = int(began.min()) - 1 if len(began) else clock
        slides = [np.arange(since // s * s + s, clock + 1, s) for s in self.slides_us]
        return np.unique(np.concatenate(slides))


def _at(rows: pa.Table, instant: int) -> pa.Table:
    ts, exp = np.full(rows.num_rows, instant), np.full(rows.num_rows, FOREVER)
    return rows.append_column(TS, pa.array(ts)).append_column(EXP, pa.array(exp))
