"""Rows without a match: NOT EXISTS and NOT IN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.delta.rows import Positions, int64, where, with_column
from panes.operators.base import Operator
from panes.operators.semi_join import SemiJoin
from panes.operators.tools.edge import Edge
from panes.operators.tools.multiplicities import Multiplicities, rows_of
from panes.operators.tools.numbered_values import NumberedValues
from panes.operators.tools.strategy import Departures
from panes.plan.expressions import Expression
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_waiting
from panes.state.buffers.timer_queue import TimerQueue

_END = "_end"


@dataclass
class AntiJoin(Operator):
    """Left rows for which the right side holds no row with an equal key that passes the residual.

    `null_aware` is NOT IN: a left row whose key is NULL, and every row while the right side holds a NULL key,
    is left out, unless the right side is empty.

    Output: a left row as long as it has no match. A match that comes takes back the rest of its lifetime (a
        row of weight -1 and the same `exp`); when the last match expires the row is given again. STRICT.
    State: that of the semi-join, and the rows that are known to be free again at a later time.
    Cost: that of the semi-join, and a sort of what changes by value and time.
    """

    left: Edge
    right: Edge
    left_keys: Sequence[str]
    right_keys: Sequence[str]
    residual: Expression | None = None
    null_aware: bool = False
    _semi: SemiJoin = field(init=False)
    _waiting: TimerQueue = field(init=False)
    departures: Departures = field(default_factory=Departures, init=False)

    def __post_init__(self) -> None:
        self._semi = SemiJoin(
            self.left, self.right, self.left_keys, self.right_keys, self.residual, self.null_aware
        )
        fields = [*self.left.schema.arrow, *(pa.field(name, pa.int64()) for name in (EXP, _END, WEIGHT))]
        self._waiting = choose_for_waiting(
            pa.schema(fields), "rows of the left come back when their match leaves"
        )

    @property
    def buffers(self) -> Mapping[str, State]:
        return {**self._semi.buffers, "waiting": self._waiting}

    @cached_property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.left.derived(self.left.schema, Pattern.STRICT)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        left, _ = inputs
        matched = self._semi.process(inputs, since, clock)
        due = self._waiting.due(since, clock)
        output = Delta(self._free(left, matched, due, clock), clock)
        if not self.left.is_weighted:
            # Else a row of negative weight may as well be one of the left side that goes in its time.
            self.departures.count(output)
            self.noted |= self.departures.measures
        return output

    def _free(self, left: Delta, matched: Delta, due: pa.Table, clock: int) -> pa.Table:
        """The left rows, and those that fall due, less those that match. What begins after the clock waits."""
        names = list(self.left.schema.names)
        if not matched.rows and not due.num_rows:
            table = with_column(left.table.select([*names, TS, EXP]), WEIGHT, left.weight)
            return table.select(self.output.columns.names)
        tables = [left.table.select(names), matched.table.select(names), due.select(names)]
        values = NumberedValues(tables, names)
        levels = Multiplicities(1, values.count)
        levels.add(0, values.codes[0], left.exp, left.weight, left.ts)
        levels.add(0, values.codes[1], matched.exp, -matched.weight, matched.ts)
        levels.add(0, values.codes[2], int64(due, _END), int64(due, WEIGHT), int64(due, EXP))
        code, time, (number,) = levels.sums()
        code, *hidden = rows_of(code, time, number)

        def rows(places: Positions) -> pa.Table:
            columns = [*values.take(code[places]).columns, *(pa.array(column[places]) for column in hidden)]
            return pa.Table.from_arrays(columns, schema=self.output.columns)

        is_later = hidden[0] > clock
        later = where(is_later)
        if len(later):
            self._waiting.insert(_to_wait(rows(later)))
        return rows(where(~is_later))


def _to_wait(rows: pa.Table) -> pa.Table:
    names = {EXP: _END, TS: EXP}
    return rows.rename_columns([names.get(name, name) for name in rows.column_names])
