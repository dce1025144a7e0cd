"""Where rows enter a dataflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, HIDDEN, TS, WEIGHT, Delta
from panes.operators.base import Operator
from panes.operators.tools.edge import Edge
from panes.plan.nodes import TIME
from panes.plan.schema import Field, Schema


@dataclass(frozen=True)
class Input:
    """A sub-plan that is computed elsewhere, and what its rows are.

    `rows`: the rows of the sub-plan, with `_ts` and, when it is not a stream, `_exp` and `_weight`.
    `partials`: the partial rows of a group-by (`partial_schema`), with `_ts` and `_exp`.
    `edge`: of rows that another dataflow gives, what leaves it; patterns can be harder than the plan says.
    """

    name: str
    kind: Literal["rows", "partials"] = "rows"
    edge: Edge | None = None


@dataclass
class Entry(Operator):
    """Gives arrivals the column names of the plan, and stream tuples a lifetime without end. Where a scan has the
    time of its tuples as a column, it is filled here: later operators change `_ts`.

    Output: the arrivals. Their `_ts` is the event time, and may lie outside the span: a window or ReleaseOnTime
        follows.
    State: none.
    Cost: constant.
    """

    name: str
    schema: Schema
    prefix: str = ""
    """What the plan puts before the names of the columns as they arrive: the alias of a scan."""
    weighted: bool = False
    may_lack: bool = False
    """Whether columns that no step reads may be absent: those of a file that nobody needs are not read."""

    @property
    def arriving(self) -> Schema:
        """The columns as they arrive; the time of a tuple comes as its `_ts`."""
        bare = (Field(f.name.removeprefix(self.prefix), f.type) for f in self.schema)
        return Schema(tuple(f for f in bare if not self._is_time(f.name)))

    def _is_time(self, name: str) -> bool:
        """Whether a column, by the name without the alias of its scan, has the event time of the tuples."""
        return bool(self.prefix) and name == TIME

    def taken_in(self, arrivals: pa.Table | None, clock: int) -> Delta:
        """What arrived, as a delta; None when nothing did."""
        if arrivals is None or not arrivals.num_rows:
            return Delta.empty(self.schema, clock, weighted=self.weighted)
        bare = {f.name: f.name.removeprefix(self.prefix) for f in self.schema}
        bare = {name: TS if self._is_time(old) else old for name, old in bare.items()}
        columns: dict[str, pa.ChunkedArray | pa.Array]
        columns = {
            f.name: arrivals.column(bare[f.name]).cast(f.type.arrow)
            for f in self.schema
            if not self.may_lack or bare[f.name] in arrivals.column_names
        }
        columns |= {name: arrivals.column(name) for name in HIDDEN if name in arrivals.column_names}
        columns.setdefault(EXP, pa.array(np.full(arrivals.num_rows, FOREVER)))
        if self.weighted:
            columns.setdefault(WEIGHT, pa.array(np.ones(arrivals.num_rows, np.int64)))
        table = pa.table({name: columns[name] for name in (*self.schema.names, *HIDDEN) if name in columns})
        return Delta(table, clock)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (arrived,) = inputs
        return arrived
