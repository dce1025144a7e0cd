"""The duplicate elimination of the papers (δ), over input without negative tuples: a baseline for δ*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, TS, Delta, Instants
from panes.delta.grouped import cummax_within, sort_by_group, starts_of
from panes.delta.rows import int64, take, where
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.operators.tools.numbered_values import NumberedValues
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.chunked import ChunkedBuffer


@dataclass
class NaiveDistinct(Operator):
    """Keeps one live row per value, and all of its input (thesis 3.2.2, update-patterns 2.1).

    Output: a row when its value first appears; when the shown row expires, the youngest live one of its value, for
        the time that it has left. WEAK.
    State: the whole input, and the rows that are shown, each in the buffer of the strategy.
    Cost: every row is stored, and looked up among the shown ones. Where one of these expires, so is the input.
    """

    edge: Edge
    held: ChunkedBuffer = field(init=False)
    shown: ChunkedBuffer = field(init=False)

    def __post_init__(self) -> None:
        self.held = self.edge.buffer(self.edge.schema.names, nulls_equal=True)
        self.shown = self.output.buffer(self.edge.schema.names, nulls_equal=True)

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"held": self.held, "shown": self.shown}

    @property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.edge.derived(self.edge.schema, Pattern.WEAK)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        names = self.edge.schema.names
        ended = self.shown.expire_clustered(clock, since)
        if not delta.rows and not ended.num_rows:
            return Delta(self.output.columns.empty_table(), clock)
        tables = [delta.table.select(names)]
        if ended.num_rows:
            tables.append(ended.select(names))
        values = NumberedValues(tables, names)
        shown = np.full(values.count, BEGINNING)
        codes, (exp,) = values.stored(self.shown, [EXP], after=clock)
        np.maximum.at(shown, codes, exp)
        rows = [(values.codes[0], delta.ts, delta.exp)]
        if ended.num_rows:
            np.maximum.at(shown, values.codes[1], int64(ended, EXP))
            rows.append((values.codes[1], int64(ended, EXP), self._youngest(ended)))
        given = self._given(values, shown, rows, clock)
        self.shown.insert(take(given, where(int64(given, EXP) > clock)).drop_columns([TS]))
        self.held.forget(clock, since)
        self.held.insert(take(delta.table, where(delta.exp > clock), [*names, EXP]))
        return Delta(given, clock)

    def _youngest(self, ended: pa.Table) -> Instants:
        """Until when the input holds the values of shown rows that have expired."""
        youngest = np.full(ended.num_rows, BEGINNING)
        for at, table, stored_at in self.held.matches(ended, self.edge.schema.names):
            np.maximum.at(youngest, at, int64(table, EXP)[stored_at])
        return youngest

    def _given(
        self,
        values: NumberedValues,
        shown: Instants,
        rows: Sequence[tuple[Instants, Instants, Instants]],
        clock: int,
    ) -> pa.Table:
        """The rows that are shown from now on: each begins when none of its value is shown any more."""
        code, ts, exp = (np.concatenate(column) for column in zip(*rows, strict=True))
        start = np.maximum(ts, shown[code])
        due = where((start <= clock) & (exp > start))
        order = due[sort_by_group(code[due], start[due])]
        code, start, exp = code[order], start[order], exp[order]
        first = starts_of(code)
        covered = np.empty_like(exp)
        covered[1:] = cummax_within(exp, first)[:-1] if len(exp) else exp
        covered[first] = BEGINNING
        heads = where(start > covered)
        until = np.maximum.reduceat(exp, heads) if len(heads) else exp
        hidden = [pa.array(start[heads]), pa.array(until)]
        return pa.Table.from_arrays([*values.take(code[heads]).columns, *hidden], schema=self.output.columns)
