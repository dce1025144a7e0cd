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
from panes.plan.nodes import Node, StreamScan
from panes.plan.order_of_answer import relation_of
from panes.plan.schema import Field, Schema
from panes.plan.windows import WindowSpec
from panes.sharing.predicates import Predicate, predicate_of
from panes.sharing.reading import BlockLifetimes
from panes.sharing.stateless import Columns
from panes.sharing.tuple_block import TupleBlock
from panes.sharing.windowed_stream import windowed_stream_of


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
    found = windowed_stream_of(relation_of(plan))
    if found is None:
        return None
    return Selection(found.scan, predicate_of(found.predicate), found.window, found.columns)
