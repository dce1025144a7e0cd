"""The rows of selections that share their stream, read from the tuples and matches of the epochs that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.answers.lookup import Lookup
from panes.answers.open_segments import OpenSegments
from panes.delta.delta import BEGINNING
from panes.sharing.selection import Selection
from panes.sharing.selection_store import SelectionStore
from panes.state.storage.epoch_log import QueryProgress
from panes.state.storage.epoch_states import StagePlace
from panes.state.storage.recently_used import RecentlyUsed

_STORES_IN_MEMORY = 64


class OpenStores:
    """The stores that were used last, by shard and epoch."""

    def __init__(self, segments: OpenSegments) -> None:
        self._segments = segments
        self._stores: RecentlyUsed[tuple[StagePlace, int, int], SelectionStore] = RecentlyUsed(
            _STORES_IN_MEMORY
        )

    def store(self, stage: StagePlace, shard: int, epoch: int) -> SelectionStore:
        return self._stores.get(
            (stage, shard, epoch), lambda: SelectionStore(self._segments.chunks(stage, shard, epoch))
        )


@dataclass(frozen=True)
class AnswerFromSelections:
    """What one of the selections on a stream has of its tuples, on all shards."""

    open: OpenStores
    member: int
    reading: Selection

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: Lookup | None = None
    ) -> pa.Table:
        del is_first  # the tuples of the history are there as those of any other time
        stores = self._stores(ran)
        rows = pa.concat_tables([store.answer(self.member, self.reading, instant) for store in stores])
        return rows if lookup is None else lookup.rows(rows)

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        since = BEGINNING if is_first else ran.since
        found = [
            store.changes(self.member, self.reading, since, ran.clock, born=BEGINNING)
            for store in self._stores(ran)
        ]
        return pa.concat_tables(found)

    def _stores(self, ran: QueryProgress) -> Sequence[SelectionStore]:
        shards = range(ran.answer.shards(ran.spread))
        return [self.open.store(ran.answer, shard, ran.epoch) for shard in shards]
