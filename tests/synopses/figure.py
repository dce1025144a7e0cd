"""A stream with one tuple per pane, as in figure 2.5 of the thesis: panes of a second, windows of up to eight."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.aggregates.linear import ROWS
from panes.aggregates.partials import partial_schema
from panes.delta.delta import EXP, TS
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import GroupBy, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.synopses.definition import SynopsisSource
from panes.synopses.layout import Layout, named, partial_column
from panes.synopses.synopsis_store import SynopsisStore

SECOND = 1_000_000
VALUES = (3, 5, 7, 2, 6, 1, 4, 8)
"""The values of the panes, old to young."""
LONGEST = 8 * SECOND
X = Column(BIGINT, "s.x")
K = Column(BIGINT, "s.k")
SCAN = StreamScan("s", "s", Schema.of([("s.k", BIGINT), ("s.x", BIGINT)]))
SUM = Aggregate("total", "sum", X, BIGINT)
MAX = Aggregate("most", "max", X, BIGINT)
MIN = Aggregate("least", "min", X, BIGINT)
COUNT = Aggregate("n", "count", None, BIGINT)
ALL = SynopsisSource(SCAN, (), ())
BY_K = SynopsisSource(SCAN, (K,), ())


def group_by_of(*aggregates: Aggregate, source: SynopsisSource = ALL) -> GroupBy:
    return source.group_by(aggregates, RangeWindow(LONGEST, SECOND))


def partial_rows(
    group_by: GroupBy, values: Sequence[int], *, first: int = 1, late: int = 0, key: int = 0
) -> pa.Table:
    """The partial rows of one tuple per pane. The first pane ends at `first` seconds; tuples are seen `late`
    seconds after the end of their pane."""
    ends = [(first + number) * SECOND for number in range(len(values))]
    ones, numbers = [1] * len(values), list(values)
    own = {
        ROWS: ones,
        "_count_0": ones,
        "_sum_0": numbers,
        "_value_0": numbers,
        "_key_0": [key] * len(values),
    }
    columns = {name: own[name] for name in partial_schema(group_by).names}
    times = {TS: [end + late * SECOND for end in ends], EXP: [end + LONGEST for end in ends]}
    return named(group_by, pa.table({**columns, **times}))


def store_of(form: str, *aggregates: Aggregate) -> SynopsisStore:
    """A synopsis of a form over the stream, at the end of its eighth pane."""
    group_by = group_by_of(*aggregates)
    store = SynopsisStore(Layout.of(group_by), SECOND)
    store.add(partial_rows(group_by, VALUES), LONGEST)
    store.complete(form, 0, LONGEST, LONGEST)
    return store


def total(rows: pa.Table, group_by: GroupBy) -> int:
    """The sum that partial rows come to."""
    column = next(partial_column(p) for p in Layout.of(group_by).partials if p.function == "sum")
    return sum(rows.column(column).to_pylist())


def values(rows: pa.Table) -> list[int]:
    """The values that partial rows hold, in order."""
    (column,) = (name for name in rows.column_names if name.startswith("_value_"))
    return sorted(rows.column(column).to_pylist())
