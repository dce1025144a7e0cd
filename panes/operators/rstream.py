"""The whole relation, again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from panes.aggregates.accumulator_table import AccumulatorTable
from panes.aggregates.choose_state import choose_for_sums
from panes.delta.consolidate import AT, CHANGE, changes_of, difference
from panes.delta.delta import ALWAYS, EXP, FOREVER, TS, WEIGHT, Delta, Instants
from panes.delta.grouped import cumsum_within, sort_by_group, starts_of
from panes.delta.keys import group_rows
from panes.delta.rows import int64, take
from panes.operators.base import Operator
from panes.plan.schema import Schema
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_for_expiry
from panes.state.buffers.chunked import sum_weights

_NOBODY = np.zeros(1, np.uint64)
"""The key under which it is noted that the relation has begun."""


@dataclass
class Rstream(Operator):
    """Every tuple of the relation at every slide, or at every instant at which it changes when nothing slides.

    Without SLIDE all rows of the relation must be here: a change of any of them repeats the others. It begins
    with the first change: a row that was always there is not repeated before.

    With restore semantics a second input has the tuples that entered since the slide before, at the slide:
    as the oldest of equal tuples leave first, those of them that exceed what the relation holds came and
    went in between, and are given as well.

    Output: at each of these instants one row without end for each copy of a tuple; MONOTONIC.
    State: the relation, by expiry, and whether it has begun.
    Cost: the size of the relation at each of the instants, which is the size of the output.
    """

    keeps_time: ClassVar[bool] = True
    schema: Schema
    slides_us: Sequence[int]
    relation: Calendar = field(init=False)
    begun: AccumulatorTable = field(init=False)

    def __post_init__(self) -> None:
        self.relation = choose_for_expiry(
            None, "rows leave at a known time in any order", combine=sum_weights
        )
        self.begun = choose_for_sums((), "it is noted once that the relation has begun")

    @property
    def buffers(self) -> Mapping[str, State]:
        buffers: dict[str, State] = {"relation": self.relation}
        return buffers | {"begun": self.begun} if self.slides_us else buffers

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        delta = inputs[0]
        rows = delta.values.append_column(TS, pa.array(delta.ts)).append_column(EXP, pa.array(delta.exp))
        rows = rows.append_column(WEIGHT, pa.array(delta.weight))
        stored = self.relation.live(since)
        alive = rows
        if stored.num_rows:
            stored = stored.append_column(TS, pa.array(np.full(stored.num_rows, since)))
            alive = pa.concat_tables([stored.select(rows.column_names), rows])
        changes = changes_of(alive)
        changes = changes.filter(pa.array(int64(changes, AT) <= clock))
        at = int64(changes, AT)
        instants = (
            self._slides(delta, since, clock) if self.slides_us else np.unique(at[at > max(since, ALWAYS)])
        )
        held = self._held(changes, instants, clock)
        parts = [held]
        if len(inputs) > 1:
            entered = inputs[1].filter(np.isin(inputs[1].ts, instants)).table.select(held.column_names)
            parts.append(difference(entered, held))
        self.relation.forget(clock, since)
        later = rows.filter(pa.array(delta.exp > clock))
        if later.num_rows:
            self.relation.insert(later.drop_columns([TS]))
        told = pa.concat_tables(parts)
        return Delta(told.append_column(EXP, pa.array(np.full(told.num_rows, FOREVER))), clock)

    def next_change(self, clock: int) -> int:
        found = super().next_change(clock)
        if not self.slides_us or not self.begun.look_up(_NOBODY, _NOBODY) or not self.relation.rows:
            return found
        return min(found, *((clock // s + 1) * s for s in self.slides_us))

    def _held(self, changes: pa.Table, instants: Instants, clock: int) -> pa.Table:
        """The relation at each of the instants, from all changes of multiplicities up to the clock."""
        names = self.schema.names
        codes = group_rows(changes, names).codes
        order = sort_by_group(codes, int64(changes, AT))
        codes, at = codes[order], int64(changes, AT)[order]
        starts = starts_of(codes)
        copies = cumsum_within(int64(changes, CHANGE)[order], starts)
        # A multiplicity holds until the next change of the value.
        until = np.full(len(at), clock + 1)
        until[:-1] = np.where(codes[1:] == codes[:-1], at[1:], clock + 1)
        first, last = np.searchsorted(instants, at), np.searchsorted(instants, until)
        seen = last - first
        place = np.repeat(np.arange(len(at)), seen)
        instant = instants[first[place] + np.arange(len(place)) - np.repeat(np.cumsum(seen) - seen, seen)]
        again = np.repeat(np.arange(len(place)), copies[place])
        held = take(changes.select(names), order[place[again]])
        return held.append_column(TS, pa.array(instant[again]))

    def _slides(self, delta: Delta, since: int, clock: int) -> Instants:
        if not self.begun.look_up(_NOBODY, _NOBODY):
            changed = delta.ts[delta.ts > ALWAYS]
            if not len(changed):
                return np.zeros(0, np.int64)
            since = max(since, int(changed.min()) - 1)
            self.begun.add(_NOBODY, _NOBODY, {0: np.ones(1, np.int64)})
        slides = [np.arange(since // s * s + s, clock + 1, s) for s in self.slides_us]
        return np.unique(np.concatenate(slides))
