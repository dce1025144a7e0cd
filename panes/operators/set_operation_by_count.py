"""Set operations by counting: how often each value is held on either side decides how often it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, Delta, Instants
from panes.delta.grouped import (
    Numbers,
    last_of_instants,
    sort_groups_by_time,
    sorted_by_group,
    starts_of,
    sums_of,
)
from panes.delta.hashing import HASH
from panes.delta.rows import Positions, int64, take, take_and_set, where
from panes.operators.base import Operator
from panes.operators.tools.counting_rules import RULES
from panes.operators.tools.edge import Edge
from panes.operators.tools.numbered_values import NumberedValues
from panes.operators.tools.strategy import Departures
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_for_expiry, choose_for_retractions
from panes.state.buffers.chunked import equal_runs
from panes.state.buffers.keyed import Keyed

COUNTS = "_counts"
"""How often a value is held on both sides, in one number that can be added up: 2³² times the left count, plus
the right one. A window never holds 2³¹ rows of one value."""

_LEFT = np.int64(2**32)


def sum_counts(table: pa.Table, order: Positions) -> pa.Table:
    """One row per value and `_exp`, with the summed counts; none where both are zero."""
    values = [name for name in table.column_names if name not in (COUNTS, HASH, EXP)]
    order, starts = equal_runs(table, values, order)
    counts = sums_of(int64(table, COUNTS)[order], starts)
    kept = where(counts != 0)
    return take_and_set(table, order[starts[kept]], COUNTS, counts[kept])


def _left_right(counts: Numbers) -> tuple[Numbers, Numbers]:
    """The two counts, none of which is below zero: no value is held less than not at all."""
    return counts >> np.int64(32), counts & (_LEFT - np.int64(1))


@dataclass
class SetOperationByCount(Operator):
    """A set operation that gives a value as often as a rule says of the counts on both sides.

    Output: whenever the number changes, the difference as one row that stays until another takes it back:
        every departure is a negative tuple. STRICT.
    State: the counts of each live value, by value, and what will leave at a known time, by that time.
    Cost: a sort of arrivals and departures by value and time. However often a value is held, only its counts
        are read.
    """

    inputs: tuple[Edge, ...]
    """The left and the right edge; only the left one for DISTINCT."""
    rule: str
    """A name in `RULES`."""
    counts: Keyed = field(init=False)
    leaving: Calendar = field(init=False)
    departures: Departures = field(default_factory=Departures, init=False)

    def __post_init__(self) -> None:
        names = self.inputs[0].schema.names
        self.counts = choose_for_retractions(
            names,
            "each input's copies of a value are counted",
            nulls_equal=True,
            combine=sum_counts,
            weight=COUNTS,
        )
        self.leaving = choose_for_expiry(
            None,
            "copies are counted down at a known time in any order",
            calendar_days=self.inputs[0].calendar_days,
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"counts": self.counts, "leaving": self.leaving}

    @cached_property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.inputs[0].derived(self.inputs[0].schema, Pattern.STRICT)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        left = self.leaving.expire(clock, since)
        if not left.num_rows and not any(delta.rows for delta in inputs):
            return Delta(self.output.columns.empty_table(), clock)
        values, events = self._events(inputs, left, clock)
        rows = self._changes(values, *(np.concatenate(column) for column in zip(*events, strict=True)))
        return Delta(rows, clock)

    def _events(
        self, inputs: Sequence[Delta], left: pa.Table, clock: int
    ) -> tuple[NumberedValues, list[tuple[Numbers, Instants, Numbers]]]:
        """Changes of counts: which value, when, and by how much; one for each row of the values unless some
        arrive and leave in one span."""
        names = list(self.inputs[0].schema.names)
        tables = [
            delta.table.select(list(e.schema.names)) for delta, e in zip(inputs, self.inputs, strict=True)
        ]
        if left.num_rows:
            tables.append(left.select(names))
        values = NumberedValues(tables, names)
        events = []
        for side, delta in enumerate(inputs):
            codes, exp = values.codes[side], delta.exp
            counts = delta.weight * (np.int64(1) if side else _LEFT)
            events.append((codes, delta.ts, counts))
            ends = where(exp <= clock)
            if len(ends):
                events.append((codes[ends], exp[ends], -counts[ends]))
            self._schedule(tables[side].rename_columns(names), exp, counts, clock)
        if left.num_rows:
            events.append((values.codes[-1], int64(left, EXP), -int64(left, COUNTS)))
        return values, events

    def _schedule(self, rows: pa.Table, exp: Instants, counts: Numbers, clock: int) -> None:
        """Notes what leaves after this span, at a time known now."""
        later = where((exp > clock) & (exp < FOREVER))
        if len(later) == len(exp):
            table = rows.append_column(EXP, pa.array(exp)).append_column(COUNTS, pa.array(counts))
            self.leaving.insert(table.combine_chunks())
        elif len(later):
            table = take(rows, later).append_column(EXP, pa.array(exp[later]))
            self.leaving.insert(table.append_column(COUNTS, pa.array(counts[later])))

    def _changes(self, values: NumberedValues, code: Numbers, time: Instants, counts: Numbers) -> pa.Table:
        base = np.zeros(values.count, dtype=np.int64)
        stored, (found,) = values.stored(self.counts, [COUNTS])
        np.add.at(base, stored, found)
        if len(code) == len(values.order):
            code = values.ordered_codes
            order, time = sort_groups_by_time(values.order, code, time)
        else:
            order, code, time = sorted_by_group(code, time)
        total = np.cumsum(counts[order])
        # Every value has an event, so the groups are numbered from 0 without gaps.
        ends = np.append(starts_of(code)[1:], len(code)) - 1
        sums = np.diff(total[ends], prepend=0)
        self._note_counts(values, sums)
        # What the values before add up to is no part of the counts of a value.
        total += (base + sums - total[ends])[code]
        last = last_of_instants(code, time)
        if len(last) < len(code):
            code, time, total = code[last], time[last], total[last]
        starts = starts_of(code)
        left, right = _left_right(total)
        base_left, base_right = _left_right(base)
        given = RULES[self.rule](left, right)
        change = given.copy()
        change[1:] -= given[:-1]
        change[starts] = given[starts] - RULES[self.rule](base_left, base_right)
        rows = where(change != 0)
        change = change[rows]
        if len(self.inputs) > 1:
            fewer = where(change < 0)
            self.departures.given += int(change.sum() - change[fewer].sum())
            # What leaves because something came on the right leaves before its time.
            at = rows[fewer]
            before = np.where(code[at - 1] == code[at], right[at - 1], base_right[code[at]])
            rise = right[at] - np.where(at > 0, before, base_right[code[at]])
            self.departures.early += int(np.maximum(np.minimum(-change[fewer], rise), 0).sum())
            self.noted |= self.departures.measures
        table = values.take(code[rows])
        hidden = [pa.array(time[rows]), pa.array(np.full(len(rows), FOREVER)), pa.array(change)]
        return pa.Table.from_arrays([*table.columns, *hidden], schema=self.output.columns)

    def _note_counts(self, values: NumberedValues, sums: Numbers) -> None:
        """Adds to the counts of each value."""
        codes = where(sums != 0)
        table = values.take(codes, with_hash=True)
        table = table.append_column(EXP, pa.array(np.full(len(codes), FOREVER)))
        self.counts.insert(table.append_column(COUNTS, pa.array(sums[codes])))
