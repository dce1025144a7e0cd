"""A synopsis as a stage keeps it, and the answers of the queries that share it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from panes.plan.nodes import Synopsis
from panes.sharing.store import Arrivals, Chunks
from panes.sharing.windowed_aggregate import WindowedAggregate
from panes.state.buffers.chunk import Chunk
from panes.synopses.definition import group_by_of, window_of
from panes.synopses.layout import Layout, named
from panes.synopses.synopsis_store import SynopsisStore


class SharedSynopsis:
    """The synopsis that a plan says, over the chunks of one shard."""

    def __init__(self, node: Synopsis, chunks: Chunks | None = None) -> None:
        self._node = node
        self._group_by = group_by_of(node)
        window = window_of(node)
        assert window.slide_us is not None
        self._longest = window.range_us
        self.store = SynopsisStore(Layout.of(self._group_by), window.slide_us, chunks)

    @property
    def chunks(self) -> dict[str, list[Chunk]]:
        return self.store.chunks

    @property
    def rows(self) -> int:
        return self.store.rows

    def advance(self, arrivals: Arrivals) -> None:
        """Takes in the partial rows of an epoch, and forgets the panes that no query needs any more. A query that
        comes finds the panes that it needs."""
        for rows in arrivals.rows.values():
            if rows.num_rows:
                self.store.add(named(self._group_by, rows), self._longest)
        self.store.complete(self._node.form, arrivals.seen_since, arrivals.clock, self._longest)
        self.store.expire(arrivals.since, self._node.reach_us)

    def answers(self, queries: Mapping[int, WindowedAggregate], at: int) -> dict[int, pa.Table]:
        """What this shard has of the answers of several queries at an instant at which all of their windows slide.

        The panes are read once for all of them, and queries with windows of one length share what they hold.
        """
        ranges = [query.reader.window.range_us for query in queries.values()]
        windows = self.store.windows(at, ranges)
        return {
            number: query.answer(probed.rows, at)
            for (number, query), probed in zip(queries.items(), windows, strict=True)
        }
