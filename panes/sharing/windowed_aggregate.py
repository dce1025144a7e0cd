"""Aggregates over one window of one stream, which can be computed from a synopsis that others use as well."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.partials import cut_values_of
from panes.plan.expressions import Column, substitute
from panes.plan.nodes import SIGNATURE, GroupBy, Node, Synopsis, Window
from panes.plan.order_of_answer import relation_of
from panes.plan.windows import RangeWindow
from panes.sharing.aggregate_of_partials import AggregateOfPartials, group_by_in
from panes.sharing.chosen_signatures import ChosenSignatures, signatures_in
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
from panes.synopses.synopsis_store import SynopsisStore


@dataclass(frozen=True)
class WindowedAggregate(AggregateOfPartials):
    """A query over a synopsis: what it needs of it, and the rest of its plan."""

    reader: SynopsisReader

    number: int | None = None
    """Which bit of the signatures is its own, where the tuples of the synopsis have any."""

    @property
    def canonical(self) -> GroupBy:
        return self.reader.group_by

    def last_slide(self, instant: int) -> int:
        return self.reader.window.last_slide(instant)

    def over(self, synopsis: Synopsis) -> WindowedAggregate:
        """The query as a reader of that synopsis, and of those that follow it when others need more."""
        predicates = predicates_of(synopsis)
        is_known = self.reader.predicate in predicates
        return replace(self, number=predicates.index(self.reader.predicate) if is_known else None)

    def own(self, rows: pa.Table) -> pa.Table:
        """Of the rows of a synopsis those that are for the query. Where they have no signatures, all are: the
        queries of the synopsis had the same predicate then."""
        if SIGNATURE not in rows.column_names:
            return rows
        own = self._chosen(set(pc.unique(rows.column(SIGNATURE)).to_pylist()), may_subtract=False)
        found = own.summed(rows, self.layout)
        assert found is not None, "nothing is subtracted"
        return found

    def held_at(self, shards: Sequence[Chunks], at: int) -> pa.Table:
        range_us = self.reader.window.range_us
        if not any(map(_is_signed, shards)):
            found = [SynopsisStore(self.layout, chunks=chunks).window(at, range_us).rows for chunks in shards]
            return pa.concat_tables(found)
        # A shard may have seen other signatures than the next: all are read in one way.
        there = signatures_in(chunk for chunks in shards for chunk in chunks.get(PANES, ()))
        for may_subtract in (True, False):
            chosen = self._chosen(there, may_subtract=may_subtract)
            stores = [
                SynopsisStore(self.layout.signed, chunks=chunks, wanted=chosen.rows) for chunks in shards
            ]
            rows = pa.concat_tables([store.window(at, range_us).rows for store in stores])
            held = chosen.summed(rows, self.layout)
            if held is not None:
                return held
        raise AssertionError("what is only added up can be had")

    def held_in(self, chunks: Chunks, since: int, clock: int) -> pa.Table:
        # What is taken away would have to leave in the places of what it was a part of: rows are only added.
        layout = self.layout.signed if _is_signed(chunks) else self.layout
        return self.own(SynopsisStore(layout, chunks=chunks).lifetimes(self.reader.window, since, clock))

    def _chosen(self, signatures: Set[bytes], *, may_subtract: bool) -> ChosenSignatures:
        assert self.number is not None, "a synopsis begins anew for a predicate that it does not know"
        return ChosenSignatures.of(signatures, self.number, may_subtract=may_subtract)


def _is_signed(chunks: Chunks) -> bool:
    return any(SIGNATURE in chunk.table.column_names for chunk in chunks.get(PANES, ()))


def windowed_aggregate_of(plan: Node) -> WindowedAggregate | None:
    """The aggregate over one window of one stream that a plan is; None when it is anything else, or when it cannot
    be computed from panes."""
    plan = relation_of(plan)
    group_by = group_by_in(plan)
    if group_by is None or not isinstance(group_by.child, Window):
        return None
    window = group_by.child.spec
    if not isinstance(window, RangeWindow) or window.internal or window.slide_us is None:
        return None
    if window.offset_us:
        return None  # a late tuple lies apart until its pane has left, and would have to lie there for longer
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
    return WindowedAggregate(plan, group_by, SynopsisReader(source, predicate, window, aggregates))
