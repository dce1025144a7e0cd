"""Set operations over rows whose time to leave is known: each row is given with the lifetime it will have.

For every value that something happens to, the rows on both sides give the number of times it is held from
the beginning of the span on, as far as anybody knows now; the rule makes of it the number of times it should
be given, and what was given before is subtracted. What is left, a number that changes at a few instants, is
cut into rows: where it rises rows begin, where it falls the oldest of them end. Rows that would begin after
the span wait: they are found again when their time comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.delta.grouped import Numbers
from panes.delta.rows import int64, take, where, without
from panes.operators.base import Operator
from panes.operators.tools.counting_rules import RULES
from panes.operators.tools.edge import Edge
from panes.operators.tools.multiplicities import Multiplicities, rows_of
from panes.operators.tools.numbered_values import NumberedValues
from panes.operators.tools.strategy import Departures
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_for_expiry
from panes.state.buffers.chunked import ChunkedBuffer, sum_weights


@dataclass
class SetOperationByLifetime(Operator):
    """A set operation, over inputs without negative tuples, that gives each row with the lifetime it is known
    to have.

    Output: rows with the `exp` that is foreseen; what turns out to leave earlier is taken back by a row of
        weight -1 and the same `exp`. When the rule rises with both sides, and both sides leave at known
        times, nothing ever is: `pattern` is then WEAK, else STRICT.
    State: both inputs, as their patterns want it, and what was given, by its expiry.
    Cost: a sort of all live rows of the values that came or left. For values that are held very often,
        Counting is cheaper.
    """

    left: Edge
    right: Edge
    rule: str
    """A name in `RULES`."""
    pattern: Pattern
    left_state: ChunkedBuffer = field(init=False)
    right_state: ChunkedBuffer = field(init=False)
    given: Calendar = field(init=False)
    departures: Departures = field(default_factory=Departures, init=False)

    def __post_init__(self) -> None:
        names = self.left.schema.names
        self.left_state = self.left.buffer(names, nulls_equal=True)
        self.right_state = self.right.buffer(names, nulls_equal=True)
        self.given = choose_for_expiry(
            names,
            "what was given leaves at a known time in any order",
            combine=sum_weights,
            nulls_equal=True,
            calendar_days=self.left.calendar_days,
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"left": self.left_state, "right": self.right_state, "given": self.given}

    @property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.left.derived(self.left.schema, self.pattern, leaves_early=False)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        names = list(self.left.schema.names)
        states = (self.left_state, self.right_state, self.given)
        arrived: list[pa.Table | None] = []
        for delta, edge in zip(inputs, (self.left, self.right), strict=True):
            arrived.append(_named(delta, edge, names) if delta.rows else None)
        ended = [state.expire(clock, since) for state in states]
        parts = [
            (column, table)
            for column, tables in enumerate(zip([*arrived, None], ended, strict=True))
            for table in tables
            if table is not None and table.num_rows
        ]
        rows = self._changes(parts, names, clock) if parts else self.output.columns.empty_table()
        for table, state in zip(arrived, states, strict=False):
            if table is not None:
                state.insert(take(without(table, TS), where(int64(table, EXP) > clock)))
        output = Delta(rows, clock)
        self.departures.count(output)
        self.noted |= self.departures.measures
        return output

    def _changes(self, parts: Sequence[tuple[int, pa.Table]], names: Sequence[str], clock: int) -> pa.Table:
        values = NumberedValues([table.select(names) for _, table in parts], names)
        levels = Multiplicities(3, values.count)
        for (column, table), codes in zip(parts, values.codes, strict=True):
            ts = int64(table, TS) if TS in table.column_names else None
            levels.add(column, codes, int64(table, EXP), _weights(table), ts)
        for column, state in enumerate((self.left_state, self.right_state)):
            codes, (exp,) = values.stored(state, [EXP], after=clock)
            levels.add(column, codes, exp, np.ones(len(codes), dtype=np.int64))
        codes, (exp, weight) = values.stored(self.given, [EXP, WEIGHT], after=clock)
        levels.add(2, codes, exp, weight)
        code, time, (left, right, given) = levels.sums()
        missing = RULES[self.rule](left, right) - given
        code, ts, exp, weight = rows_of(code, time, missing)
        now = ts <= clock
        code, ts, exp, weight = code[now], ts[now], exp[now], weight[now]
        table = values.take(code)
        table = pa.Table.from_arrays(
            [*table.columns, pa.array(ts), pa.array(exp), pa.array(weight)],
            names=[*self.left.schema.names, TS, EXP, WEIGHT],
        )
        self.given.insert(take(without(table, TS), where(exp > clock)))
        return table.select(self.output.columns.names).cast(self.output.columns)


def _named(delta: Delta, edge: Edge, names: Sequence[str]) -> pa.Table:
    """The rows of a delta under the names of the left side."""
    table = delta.table.select(list(edge.schema.names)).rename_columns(list(names))
    return table.append_column(TS, pa.array(delta.ts)).append_column(EXP, pa.array(delta.exp))


def _weights(table: pa.Table) -> Numbers:
    if WEIGHT in table.column_names:
        return int64(table, WEIGHT)
    return np.ones(table.num_rows, dtype=np.int64)
