"""The join of two streams without windows: pairs carry the times of both tuples, so that windows of any lengths
can be applied to them later."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, CAME, EXP, TS, Delta, first_seen
from panes.delta.keys import has_null
from panes.delta.rows import int64, take, where, with_column, without
from panes.operators.join import Join
from panes.operators.tools.edge import Edge
from panes.plan import nodes
from panes.plan.patterns import Pattern
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT
from panes.sharing.named_rows import named_rows
from panes.sharing.tuple_block import LEFT_TS, RIGHT_TS, SEEN
from panes.state.buffers.chunked import ChunkedBuffer

SIDES = ("input-0", "input-1")
"""The inputs of a stage with the tuples of the left and of the right."""
_SEEN = ("_left_seen", "_right_seen")
_TIMES = tuple(zip((LEFT_TS, RIGHT_TS), _SEEN, strict=True))
"""For each side the columns of the time of a tuple, and of the instant from which on windows hold it."""


class PairJoin:
    """The tuples of two streams by key. Their `_exp` here is their time, so that they leave by whatever limit is
    given: how long a tuple is needed depends on the windows, which the join does not know."""

    def __init__(self, node: nodes.Join) -> None:
        self.node = node
        edges = [_edge(side, times) for side, times in zip(node.children, _TIMES, strict=True)]
        self._join = Join(edges[0], edges[1], node.left_keys, node.right_keys, node.residual)
        self._keys = node.left_keys, node.right_keys

    @property
    def buffers(self) -> tuple[ChunkedBuffer, ChunkedBuffer]:
        """The tuples of the left and of the right that are kept."""
        return self._join.left_state, self._join.right_state

    def tuples(self, side: int, rows: pa.Table | None, since: int) -> pa.Table:
        """New tuples of a side as they are kept, without those that have no partner because a key is NULL. A tuple
        of a time before `since` came late, and is seen from then on."""
        if rows is None:
            return self.no_tuples(side)
        named = named_rows(self.node.children[side], rows)
        ts, seen = int64(named, TS), first_seen(named, since)
        table = without(named, TS, CAME)
        for name, values in (
            *zip(_TIMES[side], (ts, seen), strict=True),
            (TS, np.full(len(ts), BEGINNING)),
            (EXP, ts),
        ):
            table = with_column(table, name, values)
        return take(table, where(~has_null(table, self._keys[side])))

    def no_tuples(self, side: int) -> pa.Table:
        return _edge(self.node.children[side], _TIMES[side]).columns.empty_table()

    def pairs(self, left: pa.Table, right: pa.Table) -> pa.Table:
        """The pairs that new tuples make, with the times of both, the earlier of them (`_ts`) and the instant from
        which on both are seen. The tuples are kept."""
        found = self._join.process(
            [Delta(left, BEGINNING), Delta(right, BEGINNING)], BEGINNING, BEGINNING
        ).table
        seen = np.maximum(*(int64(found, name) for name in _SEEN))
        earlier = np.minimum(int64(found, LEFT_TS), int64(found, RIGHT_TS))
        rows = without(found, *_SEEN, TS, EXP)
        return with_column(with_column(rows, TS, earlier), SEEN, seen)


def _edge(node: nodes.Node, times: tuple[str, str]) -> Edge:
    """The tuples of a side, which carry their times through the join."""
    return Edge(node.schema + Schema(tuple(Field(name, BIGINT) for name in times)), Pattern.WEAKEST)
