"""The rows of selections that share their stream, read from the tuples and matches of the epochs that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.answers.open_stores import OpenStores
from panes.delta.delta import BEGINNING
from panes.sharing.selection import Selection
from panes.sharing.selection_store import SelectionStore
from panes.state.storage.epoch_log import QueryProgress


@dataclass(frozen=True)
class AnswerFromSelections:
    """What one of the selections on a stream has of its tuples, on all shards."""

    open: OpenStores
    member: int
    reading: Selection

    def at(self, ran: QueryProgress, instant: int, *, is_first: bool) -> pa.Table:
        del is_first  # the tuples of the history are there as those of any other time
        return pa.concat_tables(
            [store.answer(self.member, self.reading, instant) for store in self._stores(ran)]
        )

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        since = BEGINNING if is_first else ran.since
        found = [
            store.changes(self.member, self.reading, since, ran.clock, born=BEGINNING)
            for store in self._stores(ran)
        ]
        return pa.concat_tables(found)

    def _stores(self, ran: QueryProgress) -> Sequence[SelectionStore]:
        return self.open.of(ran, SelectionStore, SelectionStore)
