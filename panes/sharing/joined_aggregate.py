"""Aggregates over a join of two streams, each through a window, which can be computed from cells that others use
as well (`synopses/join_cells.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.aggregates.partials import cut_values_of
from panes.plan.expressions import conjunction
from panes.plan.join_keys import with_keys
from panes.plan.nodes import GroupBy, Join, Node, Select
from panes.plan.order_of_answer import relation_of
from panes.plan.windows import RangeWindow
from panes.sharing.aggregate_of_partials import AggregateOfPartials, group_by_in
from panes.sharing.joined_streams import JoinedSide, joined_streams_of
from panes.sharing.store import Chunks
from panes.state.storage.manifest import PANES
from panes.synopses.definition import kept_values, over_stream
from panes.synopses.join_cells import JoinCells
from panes.synopses.join_definition import JoinReader, JoinSource


@dataclass(frozen=True)
class JoinedAggregate(AggregateOfPartials):
    """A query over the cells of a join: what it needs of them, and the rest of its plan."""

    reader: JoinReader

    @property
    def canonical(self) -> GroupBy:
        return self.reader.group_by

    def last_slide(self, instant: int) -> int:
        return self.reader.windows[0].last_slide(instant)

    def held_at(self, shards: Sequence[Chunks], at: int) -> pa.Table:
        return pa.concat_tables([self._cells(chunks).window(at, self.reader.windows) for chunks in shards])

    def held_in(self, chunks: Chunks, since: int, clock: int) -> pa.Table:
        return self._cells(chunks).lifetimes(self.reader.windows, since, clock)

    def _cells(self, chunks: Chunks) -> JoinCells:
        return JoinCells(self.layout, chunks=chunks.get(PANES, ()))


def joined_aggregate_of(plan: Node) -> JoinedAggregate | None:
    """The aggregate over a join of two streams by equal keys that a plan is; None when it is anything else, or
    when it cannot be computed from cells."""
    plan = relation_of(plan)
    group_by = group_by_in(plan)
    found = None if group_by is None else joined_streams_of(group_by.child)
    if group_by is None or found is None or not found.keys or cut_values_of(group_by):
        return None
    left, right = found.windows
    if not isinstance(left, RangeWindow) or not isinstance(right, RangeWindow) or left.slide_us is None:
        return None
    if left.offset_us or right.offset_us:
        return None  # cells are of panes that end at the last slide
    sides = with_keys(_tuples(found.left), _tuples(found.right), found.keys)
    columns = dict(found.columns)
    aggregates = tuple(over_stream(aggregate, columns) for aggregate in group_by.aggregates)
    keys = tuple(columns[key] for key in group_by.keys)
    source = JoinSource(Join(*sides, conjunction(found.conditions)), keys, kept_values(aggregates))
    return JoinedAggregate(plan, group_by, JoinReader(source, (left, right), aggregates))


def _tuples(side: JoinedSide) -> Node:
    """The tuples of a side that may have a partner."""
    asked = conjunction(side.conditions)
    return side.scan if asked is None else Select(side.scan, asked)
