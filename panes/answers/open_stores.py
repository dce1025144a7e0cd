"""The stores that readers have looked at last, kept open."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from panes.answers.open_segments import OpenSegments
from panes.sharing.store import Chunks
from panes.state.storage.epoch_log import QueryProgress
from panes.state.storage.recently_used import RecentlyUsed

_STORES_IN_MEMORY = 64

StoreT = TypeVar("StoreT")


class OpenStores:
    """The stores of the queries that share one, by shard and epoch: what they have read once stays in memory."""

    def __init__(self, segments: OpenSegments) -> None:
        self._segments = segments
        self._stores: RecentlyUsed[Hashable, object] = RecentlyUsed(_STORES_IN_MEMORY)

    def of(self, ran: QueryProgress, kind: type[StoreT], make: Callable[[Chunks], StoreT]) -> list[StoreT]:
        """The stores of all shards at the end of an epoch; `make` opens one over its chunks."""
        found = []
        for shard in range(ran.answer.shards(ran.spread)):
            store = self._stores.get(
                (ran.answer, shard, ran.epoch),
                lambda: make(self._segments.chunks(ran.answer, shard, ran.epoch)),  # noqa: B023  called at once
            )
            assert isinstance(store, kind), f"the plan of a group has one kind of store, not {type(store)}"
            found.append(store)
        return found
