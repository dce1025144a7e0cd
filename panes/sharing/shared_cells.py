"""The cells of a join as a stage keeps them, with the tuples of both streams, and the stored answers of the
queries that are refreshed by deadline."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, TS, Delta
from panes.delta.evaluate import evaluate
from panes.delta.rows import int64, take, where, without
from panes.operators.pre_aggregate import PreAggregate
from panes.plan.nodes import JoinSynopsis
from panes.plan.windows import round_up
from panes.sharing.pair_join import SIDES, PairJoin
from panes.sharing.refresh import refresh
from panes.sharing.refreshes import Probes, Refresh, Refreshes
from panes.sharing.store import Arrivals, Chunks
from panes.sharing.tuple_block import LEFT_TS, RIGHT_TS, SEEN
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import ANSWER, PANES, REFRESHED
from panes.synopses.basic_interval import Probed
from panes.synopses.join_cells import JoinCells
from panes.synopses.join_definition import joined_group_by_of, joined_of, pairs_of, pane_of
from panes.synopses.layout import Layout, named
from panes.synopses.refreshed_answers import RefreshedAnswers

CELL_BUFFERS = tuple(f"{ANSWER}.{name}" for name in ("left", "right"))
"""The buffers of the tuples of each side."""


class SharedCells:
    """The cells that a plan says, over the chunks of one shard.

    A tuple is joined once, whatever the number of queries and their windows. A query that comes finds the cells
    that it needs.

    State: that of the join and of the cells. It does not grow with the number of queries.
    Cost: of an epoch, the join of its tuples, and one grouped pass over the new pairs.
    """

    def __init__(self, node: JoinSynopsis, chunks: Chunks | None = None) -> None:
        chunks = chunks or {}
        self._node = node
        self._group_by = joined_group_by_of(node)
        self._pane_us = pane_of(node)
        self._join = PairJoin(joined_of(node))
        for name, buffer in zip(CELL_BUFFERS, self._join.buffers, strict=True):
            buffer.restore(chunks.get(name, ()))
        self.cells = JoinCells(Layout.of(self._group_by), self._pane_us, chunks.get(PANES, ()))
        self._refreshed = RefreshedAnswers(chunks.get(REFRESHED, ()))

    @property
    def chunks(self) -> dict[str, list[Chunk]]:
        tuples = zip(CELL_BUFFERS, self._join.buffers, strict=True)
        found = {name: list(buffer.chunks) for name, buffer in tuples}
        return {**found, PANES: self.cells.chunks, REFRESHED: self._refreshed.chunks}

    @property
    def rows(self) -> int:
        return self.cells.rows

    def advance(self, arrivals: Arrivals) -> None:
        """Takes in the tuples of an epoch, and forgets the tuples and cells that no query needs any more."""
        came = (arrivals.rows.get(name) for name in SIDES)
        left, right = (self._join.tuples(n, rows, arrivals.seen_since) for n, rows in enumerate(came))
        self._add(self._join.pairs(left, right))
        since = arrivals.since
        for buffer, reach in zip(self._join.buffers, self._node.reaches, strict=True):
            if since > BEGINNING + reach:
                buffer.forget(since - reach)
        self.cells.expire(since, self._node.reaches)

    def refresh(self, refreshes: Refreshes, clock: int) -> Probes:
        """Stores the answers that an epoch refreshes which ends at a clock; returns what that took.

        The cells are read once for all of a batch (CS5), and queries with equal windows share what they hold
        (CS4).
        """

        def windows(at: int, batch: Sequence[Refresh]) -> list[Probed]:
            pairs = [(one.range_us, one.right_us) for one in batch]
            return self.cells.windows(at, [(left, left if right is None else right) for left, right in pairs])

        return refresh(windows, self._refreshed, refreshes, clock)

    def _add(self, pairs: pa.Table) -> None:
        """Adds pairs to their cells, those that some window may hold."""
        left, right = (int64(pairs, name) for name in (LEFT_TS, RIGHT_TS))
        shown = round_up(int64(pairs, SEEN), self._pane_us)
        one, other = self._node.reaches
        at = where((shown < left + one) & (shown < right + other))
        if not len(at):
            return
        rows = take(without(pairs, LEFT_TS, RIGHT_TS, SEEN, TS), at)
        columns = {name: evaluate(expression, rows) for name, expression in pairs_of(self._node).columns}
        columns |= {TS: pa.array(shown[at]), EXP: pa.array(shown[at])}
        lift = PreAggregate(self._group_by, combine=False)
        partials = lift.process([Delta(pa.table(columns), 0)], 0, 0).table
        self.cells.add(named(self._group_by, without(partials, TS, EXP)), left[at], right[at], shown[at])
