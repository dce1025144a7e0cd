"""The rows of answers that operators gave, read from the segments of the epochs that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.answers.answer_store import answer_of
from panes.answers.indexed_answer import CELL
from panes.answers.key_lookup import KeyLookup
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
    asked for is a slice of each chunk: neither its rows nor the others are looked through. Those of an answer with
    an index are in the order of its columns: a lookup is a slice, and rows that have left are looked for.
    """

    open: OpenSegments
    schema: pa.Schema
    member: int | None = None

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: KeyLookup | None = None
    ) -> pa.Table:
        if instant == ran.clock:
            return answer_of(self._alive(ran, ran.epoch, ran.spread, instant, lookup), self.schema)
        rows = [] if is_first else self._alive(ran, ran.before, ran.spread_before, instant, lookup)
        for came in self.came(ran):
            is_alive = (int64(came, TS) <= instant) & (int64(came, EXP) > instant)
            found = came.filter(pa.array(is_alive))
            rows.append(found if lookup is None else lookup.rows(found))
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

    def _alive(
        self, ran: QueryProgress, epoch: int, spread: int, now: int, lookup: KeyLookup | None
    ) -> list[pa.Table]:
        """Of the rows that add up to the answer at the end of an epoch, those that are there later than `now`, and
        for which the condition of a lookup is true."""
        if lookup is not None and lookup.is_narrow:
            for shard in self._shards(ran, spread):
                self.open.expect_lookups(ran.answer, shard)
        in_order: list[pa.Table] = []
        by_key: list[pa.Table] = []
        are_dead = False
        for chunk in self._chunks(ran, epoch, spread, ANSWER):
            if chunk.high <= now:
                continue
            if CELL not in chunk.labels:
                rows = self._mine(chunk.table)
                in_order.append(rows.slice(int(np.searchsorted(int64(rows, EXP), now, "right"))))
                continue
            are_dead |= chunk.low <= now
            by_key += [chunk.table] if lookup is None else lookup.slices(chunk)
        if by_key and lookup is not None:
            # A few rows of each chunk: functions over one array are faster than over as many as there are chunks.
            by_key = [pa.concat_tables(by_key).combine_chunks()]
        if by_key and are_dead:
            rows = pa.concat_tables(by_key)
            by_key = [rows.filter(pa.array(rows.column(EXP).to_numpy() > now))]
        found = [rows for rows in (*in_order, *by_key) if rows.num_rows]
        return found if lookup is None or not found else [lookup.rows(pa.concat_tables(found))]

    def leaving(self, ran: QueryProgress) -> list[pa.Table]:
        """Of the rows that added up to the answer before an epoch, those that expire in its span."""

        def is_wanted(chunk: Chunk) -> bool:
            return chunk.low <= ran.clock and chunk.high > ran.since

        found = []
        for chunk in self._chunks(ran, ran.before, ran.spread_before, ANSWER):
            if not is_wanted(chunk):
                continue
            rows = self._mine(chunk.table)
            exp = int64(rows, EXP)
            if CELL in chunk.labels:
                found.append(rows.filter(pa.array((exp > ran.since) & (exp <= ran.clock))))
            else:
                first, end = np.searchsorted(exp, (ran.since, ran.clock), "right")
                found.append(rows.slice(int(first), int(end - first)))
        return [rows for rows in found if rows.num_rows]

    def came(self, ran: QueryProgress) -> list[pa.Table]:
        """The delta of the answer in an epoch."""
        tables = (self._mine(chunk.table) for chunk in self._chunks(ran, ran.epoch, ran.spread, CHANGES))
        return [rows for rows in tables if rows.num_rows]

    def _chunks(self, ran: QueryProgress, epoch: int, spread: int, buffer: str) -> Iterator[Chunk]:
        """The chunks of a buffer on all shards that an epoch had."""
        for shard in self._shards(ran, spread):
            yield from self.open.chunks(ran.answer, shard, epoch)[buffer]

    def _shards(self, ran: QueryProgress, spread: int) -> range:
        return range(ran.answer.shards(spread))

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
