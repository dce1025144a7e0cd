"""Joins of two streams seen through time windows, as queries that share one join.

What they need is kept once for all of them (`sharing/pair_store.py`): the tuples of both streams, the pairs of
them that have equal keys, and which pairs pass what each query asks of its left tuple, its right one and of both.
The windows and the projection are applied when a query is invoked, so they may differ from query to query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from panes.delta.delta import Instants
from panes.delta.rows import Positions
from panes.plan.band import band_of
from panes.plan.expressions import Expression, Literal, conjunction, conjuncts, walk
from panes.plan.join_keys import with_keys
from panes.plan.nodes import Distinct, Join, Node
from panes.plan.order_of_answer import relation_of
from panes.plan.schema import Field, Schema
from panes.plan.windows import WindowSpec
from panes.sharing.joined_streams import joined_streams_of
from panes.sharing.predicates import Predicate, predicate_of
from panes.sharing.reading import BlockLifetimes
from panes.sharing.stateless import Columns
from panes.sharing.tuple_block import LEFT_TS, RIGHT_TS, TupleBlock


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
    found = joined_streams_of(plan)
    if found is None:
        return None
    left, right, pairs, asked = found.left, found.right, found.keys, found.conditions
    common = None
    if not pairs:
        plain = conjunction(tuple(part for part in asked if not _has_constants(part)))
        left_names, right_names = (frozenset(side.scan.schema.names) for side in (left, right))
        band = band_of(plain, left_names, right_names)
        if band is None:
            return None
        common = conjunction(band.conditions)
    asked = tuple(part for part in asked if part not in conjuncts(common))
    keyed = with_keys(left.scan, right.scan, pairs)
    join = Join(keyed[0], keyed[1], keyed[2], keyed[3], common)
    return PairReading(
        join,
        predicate_of(conjunction((*left.conditions, *right.conditions, *asked))),
        found.windows,
        found.columns,
        is_distinct,
    )


def _has_constants(expression: Expression) -> bool:
    return any(isinstance(part, Literal) for part in walk(expression))
