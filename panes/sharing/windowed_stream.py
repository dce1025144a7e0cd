"""Queries over one stream through one window of time, with selections and projections at most."""

from __future__ import annotations

from dataclasses import dataclass

from panes.plan.expressions import Column, Expression, substitute
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.nodes import Node, Project, Select, StreamScan, Window, with_children
from panes.plan.schema import Field, Schema
from panes.plan.windows import UnboundedWindow, WindowSpec
from panes.sharing.stateless import Columns, stateless_of


@dataclass(frozen=True)
class WindowedStream:
    """Of the tuples of `scan`, those in `window` that pass `predicate`, seen as `columns`.

    Whatever a query calls the stream, here its columns are qualified by the name of the stream.
    """

    scan: StreamScan
    predicate: Expression | None
    window: WindowSpec
    columns: Columns


def windowed_stream_of(plan: Node) -> WindowedStream | None:
    """What a plan reads of its stream; None when there is more in it. Without a window it sees all tuples."""
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
    return WindowedStream(
        scan,
        None if whole.predicate is None else substitute(whole.predicate, renamed),
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
    """The scan with its columns qualified by the name of the stream, whatever the query calls it."""
    fields = (Field(f"{scan.stream}.{scan.attribute(f.name)}", f.type) for f in scan.columns)
    return StreamScan(scan.stream, scan.stream, Schema(tuple(fields)))
