"""Two streams, each seen through a time window, and the join of them that queries may share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from panes.plan.expressions import Column, Expression, conjuncts, substitute
from panes.plan.join_keys import KeyPair
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.nodes import Join, Node, Project, Select, StreamScan, Window
from panes.plan.schema import Field, Schema
from panes.plan.windows import BeginEndWindow, WindowSpec
from panes.sharing.stateless import Columns, stateless_of

LEFT, RIGHT = "left", "right"
"""What the streams of a pair are called, whatever a query calls them: a stream may be joined with itself."""


@dataclass(frozen=True)
class JoinedSide:
    """A stream seen through a window: its scan under the name of its side, and what a query makes of it."""

    scan: StreamScan
    window: WindowSpec
    conditions: tuple[Expression, ...]
    columns: Mapping[str, Expression]


@dataclass(frozen=True)
class JoinedStreams:
    """What a query asks of a join of two streams, over the columns of both scans."""

    left: JoinedSide
    right: JoinedSide
    keys: tuple[KeyPair, ...]
    """What is equal, on the left and on the right."""
    conditions: tuple[Expression, ...]
    """What else is asked of both tuples together."""
    columns: Columns

    @property
    def windows(self) -> tuple[WindowSpec, WindowSpec]:
        return self.left.window, self.right.window


def joined_streams_of(plan: Node) -> JoinedStreams | None:
    """The join of two streams, with selections and projections, that a plan is; None when it is anything else, or
    when the windows do not slide alike."""
    above = _above(plan)
    if above is None or above.join.time is not None:
        return None
    node = above.join
    left, right = _side(node.left, LEFT), _side(node.right, RIGHT)
    if left is None or right is None or left.window.slide_us != right.window.slide_us:
        return None
    known = {**left.columns, **right.columns}
    keys = zip(node.left_keys, node.right_keys, strict=True)
    return JoinedStreams(
        left,
        right,
        tuple((known[one], known[other]) for one, other in keys),
        tuple(substitute(part, known) for part in (*conjuncts(node.residual), *above.conditions)),
        tuple((name, substitute(expression, known)) for name, expression in above.columns),
    )


@dataclass(frozen=True)
class _Above:
    """A join and what selections and projections above it ask for, over its columns."""

    join: Join
    conditions: tuple[Expression, ...]
    columns: Columns


def _above(node: Node) -> _Above | None:
    if isinstance(node, Join):
        return _Above(node, (), tuple((f.name, Column(f.type, f.name)) for f in node.schema))
    if not isinstance(node, (Select, Project)):
        return None
    below = _above(node.child)
    if below is None:
        return None
    known = dict(below.columns)
    if isinstance(node, Select):
        own = tuple(substitute(part, known) for part in conjuncts(node.predicate))
        return replace(below, conditions=(*below.conditions, *own))
    return replace(below, columns=tuple((name, substitute(e, known)) for name, e in node.columns))


def _side(node: Node, alias: str) -> JoinedSide | None:
    if isinstance(node, (Select, Project)):
        below = _side(node.child, alias)
        if below is None:
            return None
        if isinstance(node, Select):
            own = tuple(substitute(part, below.columns) for part in conjuncts(node.predicate))
            return replace(below, conditions=(*below.conditions, *own))
        return replace(below, columns={name: substitute(e, below.columns) for name, e in node.columns})
    if not isinstance(node, Window) or not _can_be_applied_later(node.spec):
        return None
    whole = stateless_of(node.child)
    if whole is None:
        return None
    old = whole.scan
    new = Schema(tuple(Field(f"{alias}.{old.attribute(f.name)}", f.type) for f in old.columns))
    renamed = {
        name: Column(field.type, field.name) for name, field in zip(old.schema.names, new.fields, strict=True)
    }
    columns = {name: substitute(e, renamed) for name, e in whole.columns or ()} or renamed
    conditions = tuple(substitute(part, renamed) for part in conjuncts(whole.predicate))
    return JoinedSide(StreamScan(old.stream, alias, new), node.spec, conditions, columns)


def _can_be_applied_later(window: WindowSpec) -> bool:
    """A snapshot, whose two ends are fixed, is left out: what it holds is asked of the history, so that nothing is
    kept for ever because of it."""
    is_snapshot = (
        isinstance(window, BeginEndWindow) and window.begins_at is not None and window.ends_at is not None
    )
    has_own_ends = isinstance(window, LifetimeWindow)
    return window.is_timed and not window.internal and not is_snapshot and not has_own_ends
