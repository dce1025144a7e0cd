"""Partial sums for many queries at once: the query index, a window and the stateless half of group-by in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from panes.delta.delta import EXP, Delta
from panes.operators.base import Operator
from panes.operators.match import Index
from panes.plan import nodes
from panes.plan.windows import RangeWindow


@dataclass
class MatchAndSum(Operator):
    """What Match, TimeWindow and PreAggregate give one after the other, without a copy of a row for each query
    that it is for: where only counts are asked for, bits are counted.

    Output: partial rows for each query, as `partial_schema` says, with `_ts` and `_exp`.
    State: none. `index` is set by whoever runs it.
    Cost: per tuple and attribute a row of bits; then a count of the bits of each pane, or a sum over the pairs.
    """

    matched: nodes.Matched
    group_by: nodes.GroupBy
    window: RangeWindow
    index: Index | None = field(default=None, init=False)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        assert self.index is not None
        rows = delta.table.drop_columns([EXP])
        return Delta(self.index.partials(rows, self.group_by, self.window, since), clock)
