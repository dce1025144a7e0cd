"""Selections, projections and partial sums over the rows of a stream: what needs no state, on Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Set

import pyarrow as pa

from panes.aggregates.partials import partials_of, values_of
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, Delta
from panes.delta.evaluate import evaluate, mask_of
from panes.operators.pre_aggregate import PreAggregate
from panes.operators.window import TimeWindow
from panes.plan.expressions import columns_of
from panes.plan.nodes import GroupBy, Matched, Node, Project, Select, StreamScan
from panes.plan.stream import Stream
from panes.sharing.shared_indexes import ForTasks
from panes.stages.fragment import StageInput, matched_in


class Chains:
    """Computes inputs over rows of a stream (its columns, or those that are needed, and `_ts`).

    What several inputs have in common is computed once.
    """

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._done: dict[tuple[Node, ForTasks | None], pa.Table] = {}

    def input(self, source: StageInput, members: ForTasks | None = None) -> pa.Table:
        """The columns of the input and its hidden ones: `_ts`, and of partial rows `_exp`.

        `members` are the indexes of the queries that rows are matched with, where they are.
        """
        matched = matched_in(source.node)
        if matched is not None and source.group_by is not None:
            assert members is not None
            assert source.window is not None
            index = members.value[matched.scan_number]
            return index.partials(self._rows, source.group_by, source.window)
        rows = self._table(source.node, members if matched is not None else None)
        if source.group_by is None:
            return rows.select([*source.node.schema.names, TS])
        assert source.window is not None
        lasting = Delta(rows.append_column(EXP, pa.repeat(FOREVER, rows.num_rows)), FOREVER)
        seen = TimeWindow(source.window).process([lasting], BEGINNING, FOREVER)
        return partial_rows(source.group_by, seen)

    def _table(self, node: Node, members: ForTasks | None) -> pa.Table:
        if (node, members) not in self._done:
            self._done[node, members] = self._computed(node, members)
        return self._done[node, members]

    def _computed(self, node: Node, members: ForTasks | None) -> pa.Table:
        if isinstance(node, StreamScan):
            there = [n for n in node.schema.names if node.attribute(n) in self._rows.column_names]
            columns = [self._rows.column(node.attribute(name)) for name in there]
            return pa.table([*columns, self._rows.column(TS)], names=[*there, TS])
        if isinstance(node, Matched):
            assert members is not None
            return members.value[node.scan_number].exploded(self._rows)
        assert isinstance(node, (Select, Project)), node
        below = self._table(node.child, members)
        if isinstance(node, Select):
            return below.filter(mask_of(node.predicate, below)) if below.num_rows else below
        # What is computed from columns that nobody needs is not needed either.
        known = set(below.column_names)
        made = {name: evaluate(e, below) for name, e in node.columns if columns_of(e) <= known}
        return pa.table({**made, TS: below.column(TS)})


def partial_rows(group_by: GroupBy, delta: Delta) -> pa.Table:
    """The delta as partial sums per lifetime and group, with `_ts` and `_exp`."""
    return PreAggregate(group_by, combine=True).process([delta], BEGINNING, delta.clock).table


def columns_read(stream: Stream, sources: Iterable[StageInput]) -> list[str]:
    """The columns of a stream that inputs are computed from, in the order of the stream."""
    needed: set[str] = set()
    for source in sources:
        needed |= _needed(source.node, _wanted(source))
    return [name for name in stream.columns.names if name in needed]


def _wanted(source: StageInput) -> Set[str]:
    if source.group_by is None:
        return frozenset(source.node.schema.names)
    args = [partial.arg for partial in partials_of(source.group_by) if partial.arg is not None]
    args += [arg for _, arg in values_of(source.group_by)]
    return frozenset(source.group_by.keys).union(*(columns_of(arg) for arg in args))


def _needed(node: Node, wanted: Set[str]) -> Set[str]:
    """The columns of the stream that the wanted columns of a chain depend on."""
    if isinstance(node, StreamScan):
        return frozenset(node.attribute(name) for name in wanted)
    if isinstance(node, Matched):
        # Which columns the queries ask about changes as they come and go.
        return _needed(node.child, frozenset(node.child.schema.names))
    assert isinstance(node, (Select, Project)), node
    if isinstance(node, Select):
        return _needed(node.child, wanted | columns_of(node.predicate))
    used = [columns_of(expression) for name, expression in node.columns if name in wanted]
    return _needed(node.child, frozenset[str]().union(*used))
