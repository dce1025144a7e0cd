"""The rows of an aggregate that is refreshed by deadline, read from what its last refresh has stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.answers.key_lookup import KeyLookup
from panes.answers.open_segments import OpenSegments
from panes.delta.consolidate import AT
from panes.delta.delta import TS, WEIGHT
from panes.sharing.aggregate_of_partials import AggregateOfPartials
from panes.state.storage.epoch_log import QueryProgress
from panes.state.storage.manifest import REFRESHED
from panes.synopses.layout import UPTO
from panes.synopses.refreshed_answers import RefreshedAnswers


@dataclass(frozen=True)
class AnswerFromRefreshes:
    """What one query makes of the rows that were stored for it on all shards."""

    open: OpenSegments
    member: int
    reading: AggregateOfPartials

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: KeyLookup | None = None
    ) -> pa.Table:
        del instant, is_first  # between refreshes the answer stays as it is
        refreshed = ran.refreshed.get(self.member)
        if refreshed is None:
            return self.reading.plan.schema.arrow.empty_table()
        rows = self._answer(ran, ran.epoch, ran.spread, refreshed.slide)
        return rows if lookup is None else lookup.rows(rows)

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        refreshed = ran.refreshed.get(self.member)
        none = self._events(self.reading.plan.schema.arrow.empty_table(), 0, 1)
        if refreshed is None or refreshed.epoch != ran.epoch:
            return none
        now = self._answer(ran, ran.epoch, ran.spread, refreshed.slide)
        found = [none, self._events(now, refreshed.slide, 1)]
        if refreshed.before is not None and not is_first:
            earlier = self._answer(ran, ran.before, ran.spread_before, refreshed.before)
            found.append(self._events(earlier, refreshed.slide, -1))
        return pa.concat_tables(found)

    def _answer(self, ran: QueryProgress, epoch: int, spread: int, slide: int) -> pa.Table:
        """The answer as of a slide, from what shards had stored by the end of an epoch."""
        names = [name for name in self.reading.layout.schema.names if name not in (TS, UPTO)]
        parts = [self.reading.layout.schema.empty_table().select(names)]
        for shard in range(ran.answer.shards(spread)):
            stored = RefreshedAnswers(self.open.chunks(ran.answer, shard, epoch)[REFRESHED])
            parts += [self.reading.own(rows).select(names) for rows in stored.rows(self.member, slide)]
        return self.reading.answer(pa.concat_tables(parts), slide)

    def _events(self, rows: pa.Table, at: int, weight: int) -> pa.Table:
        rows = rows.select(self.reading.plan.schema.names)
        for name, value in ((AT, at), (WEIGHT, weight)):
            rows = rows.append_column(name, pa.array(np.full(rows.num_rows, value, np.int64)))
        return rows
