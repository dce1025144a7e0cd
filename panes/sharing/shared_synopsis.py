"""A synopsis as a stage keeps it, with the stored answers of the queries that are refreshed by deadline."""

from __future__ import annotations

from collections.abc import Sequence

from panes.plan.nodes import Synopsis
from panes.sharing.refresh import refresh
from panes.sharing.refreshes import Probes, Refresh, Refreshes
from panes.sharing.store import Arrivals, Chunks
from panes.state.buffers.chunk import Chunk
from panes.state.storage.manifest import REFRESHED
from panes.synopses.basic_interval import Probed
from panes.synopses.definition import group_by_of, window_of
from panes.synopses.layout import Layout, named
from panes.synopses.refreshed_answers import RefreshedAnswers
from panes.synopses.synopsis_store import SynopsisStore
from panes.synopses.total import with_total


class SharedSynopsis:
    """The synopsis that a plan says, over the chunks of one shard."""

    def __init__(self, node: Synopsis, chunks: Chunks | None = None) -> None:
        self._node = node
        self._group_by = group_by_of(node)
        window = window_of(node)
        assert window.slide_us is not None
        self._longest = window.range_us
        self.store = SynopsisStore(Layout.of(self._group_by), window.slide_us, chunks)
        self._refreshed = RefreshedAnswers((chunks or {}).get(REFRESHED, ()))

    @property
    def chunks(self) -> dict[str, list[Chunk]]:
        return {**self.store.chunks, REFRESHED: self._refreshed.chunks}

    @property
    def rows(self) -> int:
        return self.store.rows

    def advance(self, arrivals: Arrivals) -> None:
        """Takes in the partial rows of an epoch, and forgets the panes that no query needs any more. A query that
        comes finds the panes that it needs."""
        for rows in arrivals.rows.values():
            if rows.num_rows:
                added = named(self._group_by, rows)
                self.store.add(with_total(added) if self._node.has_total else added, self._longest)
        self.store.complete(self._node.form, arrivals.seen_since, arrivals.clock, self._longest)
        self.store.expire(arrivals.since, self._node.reach_us)

    def refresh(self, refreshes: Refreshes, clock: int) -> Probes:
        """Stores the answers that an epoch refreshes which ends at a clock; returns what that took.

        The panes are read once for all of a batch, and queries with windows of one length share what they hold.
        """

        def windows(at: int, batch: Sequence[Refresh]) -> list[Probed]:
            return self.store.windows(at, [one.range_us for one in batch])

        return refresh(windows, self._refreshed, refreshes, clock)
