"""Selections: queries that only choose tuples of one stream, by a predicate and by a window.

What they need is kept once for all of them (`sharing/selection_store.py`): the tuples, and which of them pass each
predicate. The window and the projection are applied when a query is invoked, so they may differ from query to
query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from panes.delta.delta import Instants
from panes.delta.rows import Positions
from panes.plan.expressions import Column, substitute
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.nodes import Node, Project, Select, StreamScan, Window, with_children
from panes.plan.order_of_answer import relation_of
from panes.plan.schema import Field, Schema
from panes.plan.windows import UnboundedWindow, WindowSpec
from panes.sharing.predicates import Predicate, predicate_of
from panes.sharing.reading import BlockLifetimes
from panes.sharing.stateless import Columns, stateless_of
from panes.sharing.tuple_block import TupleBlock


@dataclass(frozen=True)
class Selection:
    """A selection: of the tuples of `scan`, those in `window` that pass `predicate`, seen as `columns`.

    Whatever a query calls the stream, here its columns are qualified by the name of the stream.
    """

    scan: StreamScan
    predicate: Predicate
    window: WindowSpec
    columns: Columns

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(name, expression.type) for name, expression in self.columns))

    @property
    def is_distinct(self) -> bool:
        return False

    @property
    def kept(self) -> Schema:
        return self.scan.schema

    def lifetime(self, block: TupleBlock, positions: Positions) -> tuple[Instants, Instants]:
        return self.window.lifetime(block.ts[positions], block.seen[positions])

    def lifetimes(self, blocks: Sequence[TupleBlock]) -> BlockLifetimes:
        first, last, seen = np.array([(block.low, block.high, block.max_seen) for block in blocks]).T
        first_enters, first_leaves = self.window.lifetime(first, first)
        last_enters, last_leaves = self.window.lifetime(last, seen)
        return BlockLifetimes(first_enters, last_enters, first_leaves, last_leaves)


def selection_of(plan: Node) -> Selection | None:
    """The selection that a plan is, or None when it is more than that."""
    plan = relation_of(plan)
    window: WindowSpec = UnboundedWindow()
    found = _window_of(plan)
    if found is not None:
        if not found.spec.is_timed or found.spec.internal or isinstance(found.spec, LifetimeWindow):
            return None
        window = found.spec
        plan = _without(plan, found)
    whole = stateless_of(plan)
    if whole is None:
        return None
    scan = under_its_own_name(whole.scan)
    names = dict(zip(whole.scan.schema.names, scan.schema.fields, strict=True))
    renamed = {old: Column(field.type, field.name) for old, field in names.items()}
    columns = whole.columns or tuple((name, Column(f.type, name)) for name, f in names.items())
    predicate = None if whole.predicate is None else substitute(whole.predicate, renamed)
    return Selection(
        scan,
        predicate_of(predicate),
        window,
        tuple((name, substitute(expression, renamed)) for name, expression in columns),
    )


def _window_of(plan: Node) -> Window | None:
    while isinstance(plan, (Select, Project)):
        plan = plan.child
    return plan if isinstance(plan, Window) else None


def _without(plan: Node, window: Window) -> Node:
    if plan is window:
        return window.child
    (child,) = plan.children
    return with_children(plan, _without(child, window))


def under_its_own_name(scan: StreamScan) -> StreamScan:
    fields = (Field(f"{scan.stream}.{scan.attribute(f.name)}", f.type) for f in scan.columns)
    return StreamScan(scan.stream, scan.stream, Schema(tuple(fields)))
