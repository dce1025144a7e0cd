"""The rows of an aggregate that shares a synopsis, computed from the panes of the epochs that are kept."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from panes.answers.key_lookup import KeyLookup
from panes.answers.open_segments import OpenSegments
from panes.delta.delta import BEGINNING
from panes.sharing.aggregate_of_partials import AggregateOfPartials
from panes.sharing.store import Chunks
from panes.state.storage.epoch_log import QueryProgress


@dataclass(frozen=True)
class AnswerFromSynopsis:
    """What one query makes of the panes of all shards: its window, aggregates, conditions and columns."""

    open: OpenSegments
    reading: AggregateOfPartials

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: KeyLookup | None = None
    ) -> pa.Table:
        del is_first  # the panes of the history are there as those of any other time
        at = self.reading.last_slide(instant)
        rows = self.reading.answer(self.reading.held_at(self._shards(ran), at), at)
        return rows if lookup is None else lookup.rows(rows)

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        since = BEGINNING if is_first else ran.since
        rows = [self.reading.held_in(chunks, since, ran.clock) for chunks in self._shards(ran)]
        return self.reading.changes(pa.concat_tables(rows), since, ran.clock)

    def _shards(self, ran: QueryProgress) -> list[Chunks]:
        """What all shards keep."""
        shards = range(ran.answer.shards(ran.spread))
        return [self.open.chunks(ran.answer, shard, ran.epoch) for shard in shards]
