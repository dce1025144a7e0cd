"""The query index as an operator: rows are matched with the predicates of all queries of a group at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, Delta
from panes.operators.base import Operator
from panes.plan import nodes
from panes.plan.windows import RangeWindow


class Index(Protocol):
    """What an operator asks of the index of the queries of a group."""

    def exploded(self, rows: pa.Table) -> pa.Table: ...

    def partials(
        self, rows: pa.Table, group_by: nodes.GroupBy, window: RangeWindow, since: int
    ) -> pa.Table: ...


@dataclass
class Match(Operator):
    """Gives every row once for each query of the group whose predicate it passes, marked with the query.

    Output: the rows with the column that says for which query each is; MONOTONIC over a stream.
    State: none. `index` is set by whoever runs it: it changes as queries come and go.
    Cost: per tuple and attribute a row of bits; then the pairs of tuple and query.
    """

    matched: nodes.Matched
    index: Index | None = field(default=None, init=False)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        assert self.index is not None
        rows = self.index.exploded(delta.table.drop_columns([EXP]))
        return Delta(rows.append_column(EXP, pa.repeat(FOREVER, rows.num_rows)), clock)
