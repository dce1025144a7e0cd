"""The rows of BEGIN … END aggregates, read from the tuples by time of the epochs that are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.answers.key_lookup import KeyLookup
from panes.answers.open_stores import OpenStores
from panes.delta.consolidate import AT
from panes.delta.delta import BEGINNING, WEIGHT
from panes.sharing.begin_end_aggregate import BeginEndAggregate
from panes.state.storage.epoch_log import QueryProgress
from panes.synopses.timed_store import TimedStore


@dataclass(frozen=True)
class AnswerFromTimed:
    """What the tuples of all shards in the window of one query add up to."""

    open: OpenStores
    reading: BeginEndAggregate

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: KeyLookup | None = None
    ) -> pa.Table:
        del is_first  # the tuples of the history are there as those of any other time
        store = self.reading.store
        shards = self.open.of(
            ran, TimedStore, lambda chunks: TimedStore(store.schema.names, store.keys, chunks)
        )
        shown = self.reading.shown(self.reading.asked.at(shards, instant))
        return shown if lookup is None else lookup.rows(shown)

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        """The answer before the span goes and the one after it comes, both at its end: groups without SLIDE change
        once per epoch."""
        after = _events(self.at(ran, ran.clock, is_first=is_first), ran.clock, 1)
        if is_first or ran.since == BEGINNING:
            return after
        return pa.concat_tables([_events(self.at(ran, ran.since, is_first=is_first), ran.clock, -1), after])


def _events(rows: pa.Table, at: int, weight: int) -> pa.Table:
    for name, value in ((AT, at), (WEIGHT, weight)):
        rows = rows.append_column(name, pa.array(np.full(rows.num_rows, value, np.int64)))
    return rows
