"""A stream with one tuple per pane, as in figure 2.5 of the thesis: panes of a second, windows of up to eight."""

from __future__ import annotations

import pyarrow as pa

from panes.aggregates.linear import ROWS
from panes.delta.delta import EXP, TS
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import GroupBy, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.synopses.definition import SynopsisSource
from panes.synopses.layout import Layout, named
from panes.synopses.synopsis_store import SynopsisStore

SECOND = 1_000_000
VALUES = (3, 5, 7, 2, 6, 1, 4, 8)
"""The values of the panes, old to young."""
LONGEST = 8 * SECOND
X = Column(BIGINT, "s.x")
SCAN = StreamScan("s", "s", Schema.of([("s.k", BIGINT), ("s.x", BIGINT)]))
SUM = Aggregate("total", "sum", X, BIGINT)
MAX = Aggregate("most", "max", X, BIGINT)
COUNT = Aggregate("n", "count", None, BIGINT)


def group_by_of(*aggregates: Aggregate) -> GroupBy:
    source = SynopsisSource(SCAN, None, (), ())
    return source.group_by(aggregates, RangeWindow(LONGEST, SECOND))


def partial_rows(group_by: GroupBy, values: tuple[int, ...] = VALUES, first: int = 1) -> pa.Table:
    """The partial rows of one tuple per pane; the first pane ends at `first` seconds."""
    ends = [(first + number) * SECOND for number in range(len(values))]
    ones = [1] * len(values)
    own = {ROWS: ones, "_count_0": ones, "_sum_0": list(values), "_value_0": list(values)}
    names = named(group_by, Layout_columns(group_by)).column_names
    del names
    columns = {name: own[name] for name in Layout_columns(group_by).column_names}
    return named(group_by, pa.table({**columns, TS: ends, EXP: [end + LONGEST for end in ends]}))


def Layout_columns(group_by: GroupBy) -> pa.Table:
    from panes.aggregates.partials import partial_schema

    return partial_schema(group_by).arrow.empty_table()


def store_of(form: str, *aggregates: Aggregate) -> tuple[SynopsisStore, Layout]:
    """A synopsis of a form over the stream, at the end of its eighth pane."""
    group_by = group_by_of(*aggregates)
    layout = Layout.of(group_by)
    store = SynopsisStore(layout, SECOND)
    store.add(partial_rows(group_by), LONGEST)
    store.complete(form, 0, LONGEST, LONGEST)
    return store, layout
