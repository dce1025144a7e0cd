"""The rows of an aggregate that shares a synopsis, computed from the panes of the epochs that are kept."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from panes.answers.key_lookup import KeyLookup
from panes.answers.open_segments import OpenSegments
from panes.delta.delta import BEGINNING
from panes.sharing.windowed_aggregate import WindowedAggregate
from panes.state.storage.epoch_log import QueryProgress
from panes.synopses.synopsis_store import SynopsisStore


@dataclass(frozen=True)
class AnswerFromSynopsis:
    """What one query makes of the panes of all shards: its window, aggregates, conditions and columns."""

    open: OpenSegments
    reading: WindowedAggregate

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: KeyLookup | None = None
    ) -> pa.Table:
        del is_first  # the panes of the history are there as those of any other time
        window = self.reading.reader.window
        at = window.last_slide(instant)
        held = (store.window(at, window.range_us).rows for store in self._stores(ran))
        rows = self.reading.answer(pa.concat_tables(map(self.reading.own, held)), at)
        return rows if lookup is None else lookup.rows(rows)

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        since = BEGINNING if is_first else ran.since
        window = self.reading.reader.window
        rows = (store.lifetimes(window, since, ran.clock) for store in self._stores(ran))
        return self.reading.changes(pa.concat_tables(map(self.reading.own, rows)), since, ran.clock)

    def _stores(self, ran: QueryProgress) -> list[SynopsisStore]:
        """The stores of all shards, with the columns that the query needs."""
        shards = range(ran.answer.shards(ran.spread))
        chunks = (self.open.chunks(ran.answer, shard, ran.epoch) for shard in shards)
        return [self.reading.store(of_shard) for of_shard in chunks]
