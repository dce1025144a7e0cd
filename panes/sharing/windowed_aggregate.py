"""Aggregates over one window of one stream, which can be computed from a synopsis that others use as well.

A query may do with its groups what it likes: HAVING, projections, DISTINCT, ORDER BY … LIMIT. That is done to the
partial rows of its window when somebody reads it, by the operators of its own plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.aggregates.partials import cut_values_of
from panes.delta.consolidate import AT, CHANGE, changes_of, contents_at
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.delta.rows import int64, take, where, with_column
from panes.operators.dataflow import Dataflow
from panes.operators.input import Input
from panes.operators.lower import lower
from panes.plan.expressions import Column, substitute
from panes.plan.nodes import SIGNATURE, Distinct, GroupBy, Node, Project, Select, Synopsis, TopN, Window
from panes.plan.order_of_answer import relation_of
from panes.plan.windows import RangeWindow
from panes.sharing.signer import has_bit
from panes.sharing.stateless import stateless_of
from panes.sharing.store import Chunks
from panes.sharing.windowed_stream import under_its_own_name
from panes.state.storage.manifest import PANES
from panes.synopses.definition import (
    EVERY,
    SynopsisReader,
    SynopsisSource,
    kept_values,
    over_stream,
    predicates_of,
)
from panes.synopses.layout import Layout, own_rows
from panes.synopses.synopsis_store import SynopsisStore

_PARTIALS = Input("partials", kind="partials")
_ABOVE = (Select, Project, Distinct, TopN)
"""What may stand above the group-by."""


@dataclass(frozen=True)
class WindowedAggregate:
    """A query over a synopsis: what it needs of it, and the rest of its plan."""

    reader: SynopsisReader
    plan: Node
    """The query, without the order in which its answer is read."""
    group_by: GroupBy
    """Its own group-by, in its own names."""

    number: int | None = None
    """Which bit of the signatures is its own, where the tuples of the synopsis have any."""

    @cached_property
    def layout(self) -> Layout:
        """The columns that it needs."""
        return Layout.of(self.reader.group_by)

    def over(self, synopsis: Synopsis) -> WindowedAggregate:
        """The query as a reader of that synopsis, and of those that follow it when others need more."""
        predicates = predicates_of(synopsis)
        is_known = self.reader.predicate in predicates
        return replace(self, number=predicates.index(self.reader.predicate) if is_known else None)

    def store(self, chunks: Chunks) -> SynopsisStore:
        """The synopsis of a shard, with the columns that the query needs of it."""
        is_signed = any(SIGNATURE in chunk.table.column_names for chunk in chunks.get(PANES, ()))
        return SynopsisStore(self.layout.signed if is_signed else self.layout, chunks=chunks)

    def own(self, rows: pa.Table) -> pa.Table:
        """Of the rows of a synopsis those that are for the query. Where they have no signatures, all are: the
        queries of the synopsis had the same predicate then."""
        if SIGNATURE not in rows.column_names:
            return rows
        assert self.number is not None, "a synopsis begins anew for a predicate that it does not know"
        is_own = has_bit(rows.column(SIGNATURE), self.number)
        return take(rows, where(is_own)).drop_columns([SIGNATURE])

    def answer(self, rows: pa.Table, at: int) -> pa.Table:
        """The answer at an instant, from the partial rows of the window that ends there."""
        count = rows.num_rows
        held = own_rows(self.group_by, self.reader.group_by, rows)
        held = held.append_column(TS, pa.repeat(at, count)).append_column(EXP, pa.repeat(FOREVER, count))
        return contents_at(self._operators().process(_given(held), at - 1, at).table, at)

    def changes(self, rows: pa.Table, since: int, clock: int) -> pa.Table:
        """What comes into the answer and goes from it after `since` and up to `clock`, from the partial rows of
        that time with their lifetimes: the columns, when (`_at`) and how (`_weight`)."""
        operators = self._operators()
        held = own_rows(self.group_by, self.reader.group_by, rows)
        held = held.append_column(TS, rows.column(TS)).append_column(EXP, rows.column(EXP))
        enters = int64(rows, TS)
        if since > BEGINNING:
            before = take(held, where(enters <= since))
            before = with_column(before, TS, np.full(before.num_rows, since))
            operators.process(_given(before), since - 1, since)
        delta = operators.process(_given(take(held, where(enters > since))), since, clock)
        changes = changes_of(delta.table)
        changes = changes.filter(pa.array(int64(changes, AT) <= clock))
        names = [WEIGHT if name == CHANGE else name for name in changes.column_names]
        return changes.rename_columns(names)

    def _operators(self) -> Dataflow:
        return lower(self.plan, inputs={self.group_by: _PARTIALS})


def windowed_aggregate_of(plan: Node) -> WindowedAggregate | None:
    """The aggregate over one window of one stream that a plan is; None when it is anything else, or when it cannot
    be computed from panes."""
    plan = relation_of(plan)
    group_by = plan
    while isinstance(group_by, _ABOVE):
        group_by = group_by.child
    if not isinstance(group_by, GroupBy) or not isinstance(group_by.child, Window):
        return None
    window = group_by.child.spec
    if not isinstance(window, RangeWindow) or window.internal or window.slide_us is None:
        return None
    below = stateless_of(group_by.child.child)
    if below is None or cut_values_of(group_by):
        return None
    scan = under_its_own_name(below.scan)
    renamed = {
        old: Column(field.type, field.name)
        for old, field in zip(below.scan.schema.names, scan.schema.fields, strict=True)
    }
    columns = {name: substitute(expression, renamed) for name, expression in below.columns or ()} or renamed
    predicate = EVERY if below.predicate is None else substitute(below.predicate, renamed)
    aggregates = tuple(over_stream(aggregate, columns) for aggregate in group_by.aggregates)
    keys = tuple(columns[key] for key in group_by.keys)
    source = SynopsisSource(scan, keys, kept_values(aggregates))
    return WindowedAggregate(SynopsisReader(source, predicate, window, aggregates), plan, group_by)


def _given(rows: pa.Table) -> dict[str, pa.Table]:
    return {_PARTIALS.name: rows}
