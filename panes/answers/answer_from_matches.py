"""The rows of queries that share what is kept, read from the tuples or pairs and the matches of kept epochs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from panes.answers.key_lookup import KeyLookup
from panes.answers.open_stores import OpenStores
from panes.delta.delta import BEGINNING
from panes.sharing.distinct_rows import distinct_changes, distinct_rows
from panes.sharing.matched_blocks import MatchedBlocks
from panes.sharing.reading import Reading
from panes.state.storage.epoch_log import QueryProgress


@dataclass(frozen=True)
class AnswerFromMatches:
    """What one query has of the rows that are kept for many, on all shards."""

    open: OpenStores
    member: int
    reading: Reading

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: KeyLookup | None = None
    ) -> pa.Table:
        del is_first  # the rows of the history are there as those of any other time
        held = self._held(ran, instant)
        held = held if lookup is None else lookup.rows(held)
        return distinct_rows(held) if self.reading.is_distinct else held

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        since = BEGINNING if is_first else ran.since
        found = self._of_all(
            ran, lambda kept: kept.changes(self.member, self.reading, since, ran.clock, born=BEGINNING)
        )
        return distinct_changes(self._held(ran, since), found) if self.reading.is_distinct else found

    def _held(self, ran: QueryProgress, instant: int) -> pa.Table:
        """What the query holds at an instant, with duplicates."""
        return self._of_all(ran, lambda kept: kept.answer(self.member, self.reading, instant))

    def _of_all(self, ran: QueryProgress, part: Callable[[MatchedBlocks], pa.Table]) -> pa.Table:
        shards = self.open.of(ran, MatchedBlocks, MatchedBlocks)
        return pa.concat_tables([part(kept) for kept in shards]).combine_chunks()
