"""The duplicate elimination of the papers (δ), over input in which every departure is a negative tuple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, WEIGHT, Delta, Instants
from panes.delta.grouped import Numbers, cumsum_within, last_of_instants, sort_by_group, starts_of, sums_of
from panes.delta.hashing import HASH
from panes.delta.rows import Positions, int64, take_and_set, where, with_column
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.operators.tools.numbered_values import NumberedValues
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.chunked import equal_runs
from panes.state.buffers.keyed import Keyed

NUMBER = "_number"
"""Which of the rows of its value a row is. Rows of a value are equal here, and are told apart by it."""
CAME, LEFT, SHOWN = "_came", "_left", "_shown"
"""How many rows of a value have come and left, and the number of the one that is shown."""
COUNTERS = (CAME, LEFT, SHOWN)


def sum_counters(table: pa.Table, order: Positions) -> pa.Table:
    """One row per value with the sums of its counters; none where all are zero."""
    values = [name for name in table.column_names if name not in (*COUNTERS, WEIGHT, HASH, EXP)]
    order, starts = equal_runs(table, values, order)
    sums = [sums_of(int64(table, name)[order], starts) for name in COUNTERS]
    kept = where(np.any(sums, axis=0))
    found = take_and_set(table, order[starts[kept]], CAME, sums[0][kept])
    for name, total in zip(COUNTERS[1:], sums[1:], strict=True):
        found = with_column(found, name, total[kept])
    return found


@dataclass
class NaiveDistinctNt(Operator):
    """Keeps one live row per value, and all of its input: the NaiveDistinct of the strategy `nt`.

    Rows of a value leave in the order in which they came, as they do over a time window.

    Output: a row when its value first appears; when the shown row is taken back its negative tuple and, as long as
        there is another row of the value, the youngest of them. STRICT.
    State: the whole input, and what is shown, both by value.
    Cost: every row is stored when it comes and when it goes, and looked up among what is shown. What is shown no
        longer is looked up in the input.
    """

    edge: Edge
    held: Keyed = field(init=False)
    shown: Keyed = field(init=False)

    def __post_init__(self) -> None:
        names = self.edge.schema.names
        self.held = Keyed(names, nulls_equal=True)
        self.shown = Keyed(names, nulls_equal=True, combine=sum_counters, weight=CAME)

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"held": self.held, "shown": self.shown}

    @property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.edge.derived(self.edge.schema, Pattern.STRICT)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        if not delta.rows:
            return Delta(self.output.columns.empty_table(), clock)
        values = NumberedValues([delta.table.select(self.edge.schema.names)], self.edge.schema.names)
        before = [np.zeros(values.count, dtype=np.int64) for _ in COUNTERS]
        codes, found = values.stored(self.shown, COUNTERS)
        for counter, amounts in zip(before, found, strict=True):
            np.add.at(counter, codes, amounts)
        copies = np.abs(delta.weight)
        code, ts = np.repeat(values.codes[0], copies), np.repeat(delta.ts, copies)
        is_up = np.repeat(delta.weight > 0, copies)
        order = sort_by_group(code, ts)
        code, ts, is_up = code[order], ts[order], is_up[order]
        starts = starts_of(code)
        came = before[0][code] + cumsum_within(is_up.astype(np.int64), starts)
        left = before[1][code] + cumsum_within((~is_up).astype(np.int64), starts)
        last = last_of_instants(code, ts)
        changes = _Changes(self.held, values, before, code[last], ts[last], came[last], left[last])
        given = changes.given(self.output.columns)
        self.held.insert(
            _endless(values.take(code), {NUMBER: np.where(is_up, came, left), WEIGHT: 2 * is_up - 1})
        )
        self.shown.insert(_endless(values.take(np.arange(values.count)), changes.differences()))
        return Delta(given, clock)


def _endless(rows: pa.Table, more: Mapping[str, Numbers]) -> pa.Table:
    rows = with_column(rows, EXP, np.full(rows.num_rows, FOREVER))
    for name, numbers in more.items():
        rows = with_column(rows, name, numbers.astype(np.int64))
    return rows


class _Changes:
    """What is shown after each instant of a span, value by value."""

    def __init__(
        self,
        held: Keyed,
        values: NumberedValues,
        before: Sequence[Numbers],
        code: Positions,
        ts: Instants,
        came: Numbers,
        left: Numbers,
    ) -> None:
        self._held, self._values, self._before = held, values, before
        self._code, self._ts, self._came, self._left = code, ts, came, left
        self._starts = starts_of(code)
        self._ends = np.append(self._starts[1:], len(code))
        self._shown = before[2].copy()
        self._given: list[tuple[Positions, int]] = []
        self._follow()

    def given(self, columns: pa.Schema) -> pa.Table:
        """The rows that are shown, and those that are taken back."""
        at = np.concatenate([places for places, _ in self._given])
        weight = np.concatenate([np.full(len(places), sign) for places, sign in self._given])
        hidden = [pa.array(self._ts[at]), pa.array(np.full(len(at), FOREVER)), pa.array(weight)]
        return pa.Table.from_arrays([*self._values.take(self._code[at]).columns, *hidden], schema=columns)

    def differences(self) -> dict[str, Numbers]:
        """By how much the counters of each value change; a value that is gone is counted from zero again."""
        last = self._ends - 1
        is_held = self._came[last] > self._left[last]
        after = (self._came[last], self._left[last], self._shown)
        changed = [is_held * now - then for now, then in zip(after, self._before, strict=True)]
        return dict(zip(COUNTERS, changed, strict=True))

    def _follow(self) -> None:
        """Goes from one shown row to the next, all values at once, in as many rounds as one has such rows."""
        is_held = self._came > self._left
        places = np.where(is_held, np.arange(len(is_held)), len(is_held))
        next_held = np.append(np.minimum.accumulate(places[::-1])[::-1], len(is_held))
        # Values and what has left of each, in one number that rises.
        most = (
            int((self._ends - self._starts).max()) + int((self._left - self._before[1][self._code]).max()) + 2
        )
        rising = self._code * most + (self._left - self._before[1][self._code])
        self._given = [(np.zeros(0, dtype=np.int64), 1)]
        codes = np.arange(len(self._starts))
        place = self._starts.copy()
        while len(codes):
            is_shown = self._shown[codes] > 0
            until = np.clip(self._shown[codes] - self._before[1][codes], 0, most - 1)
            gone = np.maximum(np.searchsorted(rising, codes * most + until), place[codes])
            at = np.where(is_shown, gone, next_held[place[codes]])
            found = where(at < self._ends[codes])
            codes, at, is_shown = codes[found], at[found], is_shown[found]
            self._given.append((at[where(is_shown)], -1))
            goes_on = where(is_held[at])
            self._given.append((at[goes_on], 1))
            self._shown[codes] = 0
            self._shown[codes[goes_on]] = self._youngest(codes[goes_on], at[goes_on])
            place[codes] = at + ~is_held[at]

    def _youngest(self, codes: Positions, at: Positions) -> Numbers:
        """The numbers of the youngest rows of values after some instants, from the input or from the span."""
        came, left = self._came[at], self._left[at]
        youngest = np.where(came > self._before[0][codes], came, 0)
        needles, rows = self._held.probe(self._values.take(codes))
        if not len(needles):
            return youngest
        key = needles * (int(int64(rows, NUMBER).max()) + 1) + int64(rows, NUMBER)
        order = np.argsort(key, kind="stable")
        starts = starts_of(key[order])
        alive = order[starts[where(sums_of(int64(rows, WEIGHT)[order], starts) > 0)]]
        needle, number = needles[alive], int64(rows, NUMBER)[alive]
        stays = where(number > left[needle])
        np.maximum.at(youngest, needle[stays], number[stays])
        return youngest
