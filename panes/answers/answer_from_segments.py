"""The rows of answers that operators gave, read from the segments of the epochs that are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.answers.answer_store import answer_of
from panes.answers.open_segments import OpenSegments
from panes.delta.consolidate import AT
from panes.delta.delta import EXP, TS, WEIGHT, Instants
from panes.delta.rows import int64
from panes.plan.nodes import QUERY
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import QueryProgress
from panes.state.storage.manifest import ANSWER, CHANGES


@dataclass(frozen=True)
class AnswerFromSegments:
    """The rows of a query on all of its shards; with a `member`, of one of the queries that share a plan.

    Chunks are in the order of expiry (those of shared plans by query, and within a query by expiry), so what is
    asked for is a slice of each chunk: neither its rows nor the others are looked through.
    """

    open: OpenSegments
    schema: pa.Schema
    member: int | None = None

    def at(self, ran: QueryProgress, instant: int, *, is_first: bool) -> pa.Table:
        if instant == ran.clock:
            return answer_of(self._alive(ran, ran.epoch, ran.spread, instant), self.schema)
        rows = [] if is_first else self._alive(ran, ran.before, ran.spread_before, instant)
        for came in self.came(ran):
            is_alive = (int64(came, TS) <= instant) & (int64(came, EXP) > instant)
            rows.append(came.filter(pa.array(is_alive)))
        return answer_of(rows, self.schema)

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        none = np.zeros(0, np.int64)
        found = [self._events(self.schema.empty_table(), none, none)]
        for rows in self.came(ran):
            exp, weight = int64(rows, EXP), _weight_of(rows)
            found.append(self._events(rows, int64(rows, TS), weight))
            gone = exp <= ran.clock
            found.append(self._events(rows.filter(pa.array(gone)), exp[gone], -weight[gone]))
        if not is_first:
            for rows in self.leaving(ran):
                found.append(self._events(rows, int64(rows, EXP), -_weight_of(rows)))
        return pa.concat_tables(found)

    def _alive(self, ran: QueryProgress, epoch: int, spread: int, now: int) -> list[pa.Table]:
        """Of the rows that add up to the answer at the end of an epoch, those that are there later than `now`."""
        return self._slices(
            ran,
            epoch,
            spread,
            ANSWER,
            lambda chunk: chunk.high > now,
            lambda rows: rows.slice(int(np.searchsorted(int64(rows, EXP), now, "right"))),
        )

    def leaving(self, ran: QueryProgress) -> list[pa.Table]:
        """Of the rows that added up to the answer before an epoch, those that expire in its span."""

        def is_wanted(chunk: Chunk) -> bool:
            return chunk.low <= ran.clock and chunk.high > ran.since

        def between(rows: pa.Table) -> pa.Table:
            first, end = np.searchsorted(int64(rows, EXP), (ran.since, ran.clock), "right")
            return rows.slice(int(first), int(end - first))

        return self._slices(ran, ran.before, ran.spread_before, ANSWER, is_wanted, between)

    def came(self, ran: QueryProgress) -> list[pa.Table]:
        """The delta of the answer in an epoch."""
        return self._slices(ran, ran.epoch, ran.spread, CHANGES, lambda _: True, lambda rows: rows)

    def _slices(
        self,
        ran: QueryProgress,
        epoch: int,
        spread: int,
        buffer: str,
        is_wanted: Callable[[Chunk], bool],
        cut: Callable[[pa.Table], pa.Table],
    ) -> list[pa.Table]:
        """What a function cuts out of the chunks of all shards that an epoch had, where that is anything."""
        found = []
        for shard in range(ran.answer.shards(spread)):
            for chunk in self.open.chunks(ran.answer, shard, epoch)[buffer]:
                if is_wanted(chunk):
                    rows = cut(self._mine(chunk.table))
                    if rows.num_rows:
                        found.append(rows)
        return found

    def _mine(self, rows: pa.Table) -> pa.Table:
        if self.member is None:
            return rows
        first, end = np.searchsorted(int64(rows, QUERY), (self.member, self.member + 1))
        return rows.slice(int(first), int(end - first))

    def _events(self, rows: pa.Table, at: Instants, weight: Instants) -> pa.Table:
        rows = rows.select(self.schema.names)
        return rows.append_column(AT, pa.array(at)).append_column(WEIGHT, pa.array(weight))


def _weight_of(rows: pa.Table) -> Instants:
    return int64(rows, WEIGHT) if WEIGHT in rows.column_names else np.ones(rows.num_rows, np.int64)
