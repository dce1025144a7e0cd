"""Set operations over rows whose time to leave is known: each row is given with the lifetime it will have.

For every value that something comes of, the rows on both sides give the number of times it is held from the
beginning of the span on, as far as anybody knows now; the rule makes of it the number of times it should be
given, and what was given before is subtracted. What is left, a number that changes at a few instants, is cut into
rows: where it rises rows begin, where it falls the oldest of them end. Where the first of a value would begin
after the span, the value waits for that instant, and is looked at again then. A value of which nothing comes, and
which waits for nothing, is not touched when its rows expire: what was given of it ends as foreseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.delta.grouped import starts_of
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
from panes.state.buffers.choose import choose_for_expiry, choose_for_waiting
from panes.state.buffers.chunked import ChunkedBuffer, sum_weights
from panes.state.buffers.timer_queue import TimerQueue


@dataclass
class SetOperationByLifetime(Operator):
    """A set operation, over inputs without negative tuples, that gives each row with the lifetime it is known
    to have.

    Output: rows with the `exp` that is foreseen; what turns out to leave earlier is taken back by a row of
        weight -1 and the same `exp`. When the rule rises with both sides, and both sides leave at known
        times, nothing ever is: `pattern` is then WEAK, else STRICT.
    State: both inputs, as their patterns want it, what was given, by its expiry, and the values that wait.
    Cost: a sort of all live rows of the values that come or wait no longer. For values that are held very often,
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
    waiting: TimerQueue = field(init=False)
    departures: Departures = field(default_factory=Departures, init=False)

    def __post_init__(self) -> None:
        names = self.left.schema.names
        self.left_state = self.left.buffer(names, nulls_equal=True)
        self.right_state = self.right.buffer(names, nulls_equal=True)
        self.given = choose_for_expiry(
            names,
            "what was given leaves at a known time in any order",
            combine=sum_weights if self.pattern is Pattern.STRICT else None,
            nulls_equal=True,
            calendar_days=self.left.calendar_days,
        )
        self.waiting = choose_for_waiting(
            self.left.schema.arrow.append(pa.field(EXP, pa.int64())), "values are given at a later time"
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {
            "left": self.left_state,
            "right": self.right_state,
            "given": self.given,
            "waiting": self.waiting,
        }

    @cached_property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.left.derived(self.left.schema, self.pattern, leaves_early=False)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        names = list(self.left.schema.names)
        sides = (self.left_state, self.right_state)
        arrived = [
            _named(delta, edge, names) for delta, edge in zip(inputs, (self.left, self.right), strict=True)
        ]
        due = self.waiting.due(since, clock)
        rows = self.output.columns.empty_table()
        if due.num_rows or any(table.num_rows for table in arrived):
            rows = self._changes(arrived, due, since, clock)
        else:
            for state in (*sides, self.given):
                state.forget(clock, since)
        output = Delta(rows, clock)
        self.departures.count(output)
        self.noted |= self.departures.measures
        return output

    def _changes(self, arrived: Sequence[pa.Table], due: pa.Table, since: int, clock: int) -> pa.Table:
        names = self.left.schema.names
        values = NumberedValues([table.select(names) for table in (*arrived, due)], names)
        levels = Multiplicities(3, values.count)
        for column, state in enumerate((self.left_state, self.right_state)):
            table = arrived[column]
            levels.add(column, values.codes[column], int64(table, EXP), ts=int64(table, TS))
            codes, (exp,) = values.stored(state, [EXP], after=since)
            levels.add(column, codes, exp)
        codes, (exp, weight) = values.stored(self.given, [EXP, WEIGHT], after=since)
        levels.add(2, codes, exp, weight)
        self._remember(values, arrived, since, clock)
        code, time, (left, right, given) = levels.sums()
        code, ts, exp, weight = rows_of(code, time, RULES[self.rule](left, right) - given)
        later = where(ts > clock)
        if len(later):
            first = later[starts_of(code[later])]
            self.waiting.insert(values.take(code[first]).append_column(EXP, pa.array(ts[first])))
            now = where(ts <= clock)
            code, ts, exp, weight = code[now], ts[now], exp[now], weight[now]
        # Codes rise unless something is taken back.
        table = values.take(code, with_hash=self.pattern is not Pattern.STRICT)
        for name, numbers in ((TS, ts), (EXP, exp), (WEIGHT, weight)):
            table = table.append_column(name, pa.array(numbers))
        self.given.insert(take(without(table, TS), where(exp > clock)))
        return table.select(self.output.columns.names).cast(self.output.columns)

    def _remember(self, values: NumberedValues, arrived: Sequence[pa.Table], since: int, clock: int) -> None:
        """Forgets what expired, and keeps what came and still lives."""
        self.given.forget(clock, since)
        for number, state in enumerate((self.left_state, self.right_state)):
            state.forget(clock, since)
            if arrived[number].num_rows:
                rows = values.clustered(number, without(arrived[number], TS))
                exp = int64(rows, EXP)
                state.insert(rows if exp.min() > clock else take(rows, where(exp > clock)))


def _named(delta: Delta, edge: Edge, names: Sequence[str]) -> pa.Table:
    """The rows of a delta under the names of the left side."""
    table = delta.table.select(list(edge.schema.names)).rename_columns(list(names))
    return table.append_column(TS, pa.array(delta.ts)).append_column(EXP, pa.array(delta.exp))
