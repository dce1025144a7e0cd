"""Joins of two streams seen through time windows, as queries that share one join.

What they need is kept once for all of them (`sharing/pair_store.py`): the tuples of both streams, the pairs of
them that have equal keys, and which pairs pass what each query asks of its left tuple, its right one and of both.
The windows and the projection are applied when a query is invoked, so they may differ from query to query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from panes.delta.delta import Instants
from panes.delta.rows import Positions
from panes.plan.band import band_of
from panes.plan.expressions import Column, Expression, Literal, conjunction, conjuncts, substitute, walk
from panes.plan.join_keys import with_keys
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.nodes import Distinct, Join, Node, Project, Select, StreamScan, Window
from panes.plan.order_of_answer import relation_of
from panes.plan.schema import Field, Schema
from panes.plan.windows import BeginEndWindow, WindowSpec
from panes.sharing.predicates import Predicate, predicate_of
from panes.sharing.reading import BlockLifetimes
from panes.sharing.stateless import Columns, stateless_of
from panes.sharing.tuple_block import LEFT_TS, RIGHT_TS, TupleBlock

LEFT, RIGHT = "left", "right"
"""What the streams of a pair are called, whatever a query calls them: a stream may be joined with itself."""


@dataclass(frozen=True)
class PairReading:
    """A join: of the pairs of `join`, those in both windows that pass `predicate`, seen as `columns`."""

    join: Join
    """The join of all queries that share it, without windows and without constants."""
    predicate: Predicate
    windows: tuple[WindowSpec, WindowSpec]
    columns: Columns
    is_distinct: bool = False
    """Whether equal rows of the answer are one row, of all shards."""

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(name, expression.type) for name, expression in self.columns))

    @property
    def kept(self) -> Schema:
        return self.join.schema

    def lifetime(self, block: TupleBlock, positions: Positions) -> tuple[Instants, Instants]:
        """A pair is in the answer while both tuples are in their windows, and not before the later of them came.
        As both windows slide alike, it does not matter which of them that was."""
        seen = block.seen[positions]
        left, right = (block.times(name)[positions] for name in (LEFT_TS, RIGHT_TS))
        return self._lifetime((left, seen), (right, seen))

    def lifetimes(self, blocks: Sequence[TupleBlock]) -> BlockLifetimes:
        low = np.array([block.low for block in blocks])
        seen = np.array([block.max_seen for block in blocks])
        left, right = (np.array([b.latest(name) for b in blocks]) for name in (LEFT_TS, RIGHT_TS))
        first_enters, first_leaves = self._lifetime((low, low), (low, low))
        last_enters, last_leaves = self._lifetime((left, seen), (right, seen))
        return BlockLifetimes(first_enters, last_enters, first_leaves, last_leaves)

    def _lifetime(
        self, left: tuple[Instants, Instants], right: tuple[Instants, Instants]
    ) -> tuple[Instants, Instants]:
        one, other = self.windows
        (enters, leaves), (enters_too, leaves_too) = one.lifetime(*left), other.lifetime(*right)
        return np.maximum(enters, enters_too), np.minimum(leaves, leaves_too)


def pair_reading_of(plan: Node) -> PairReading | None:
    """The join of two streams that a plan is, or None when it is anything else.

    Without equal keys there must be a comparison of both sides that has no constants: every query of the group has
    it, and pairs are found by it.
    """
    plan = relation_of(plan)
    is_distinct = isinstance(plan, Distinct)
    if isinstance(plan, Distinct):
        plan = plan.child
    above = _above(plan)
    if above is None or above.join.time is not None:
        return None
    node = above.join
    left, right = _side(node.left, LEFT), _side(node.right, RIGHT)
    if left is None or right is None or left.window.slide_us != right.window.slide_us:
        return None
    known = {**left.columns, **right.columns}
    pairs = [(known[one], known[other]) for one, other in zip(node.left_keys, node.right_keys, strict=True)]
    asked = [substitute(part, known) for part in (*conjuncts(node.residual), *above.conditions)]
    common = None
    if not pairs:
        plain = conjunction(tuple(part for part in asked if not _has_constants(part)))
        left_names, right_names = (frozenset(side.scan.schema.names) for side in (left, right))
        band = band_of(plain, left_names, right_names)
        if band is None:
            return None
        common = conjunction(band.conditions)
    asked = [part for part in asked if part not in conjuncts(common)]
    keyed = with_keys(left.scan, right.scan, pairs)
    join = Join(keyed[0], keyed[1], keyed[2], keyed[3], common)
    return PairReading(
        join,
        predicate_of(conjunction((*left.conditions, *right.conditions, *asked))),
        (left.window, right.window),
        tuple((name, substitute(expression, known)) for name, expression in above.columns),
        is_distinct,
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


@dataclass(frozen=True)
class _Side:
    """A stream seen through a window: its scan under the name of its side, and what a query makes of it."""

    scan: StreamScan
    window: WindowSpec
    conditions: tuple[Expression, ...]
    columns: Mapping[str, Expression]


def _side(node: Node, alias: str) -> _Side | None:
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
    return _Side(StreamScan(old.stream, alias, new), node.spec, conditions, columns)


def _can_be_applied_later(window: WindowSpec) -> bool:
    """A snapshot, whose two ends are fixed, is left out: what it holds is asked of the history, so that nothing is
    kept for ever because of it."""
    is_snapshot = (
        isinstance(window, BeginEndWindow) and window.begins_at is not None and window.ends_at is not None
    )
    has_own_ends = isinstance(window, LifetimeWindow)
    return window.is_timed and not window.internal and not is_snapshot and not has_own_ends


def _has_constants(expression: Expression) -> bool:
    return any(isinstance(part, Literal) for part in walk(expression))
