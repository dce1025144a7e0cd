"""Top-n: of each partition the rows from one place to another in a total order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from panes.aggregates.accumulator_table import FIRST, SECOND
from panes.aggregates.base import Ints
from panes.aggregates.choose_state import choose_for_rows
from panes.aggregates.frequencies import COUNT, GROUP
from panes.aggregates.ordered_rows import IS_CUT, OrderedRows, are_new
from panes.delta.delta import EXP, FOREVER, TS, UNTIL, WEIGHT, Delta, Instants, delta_schema
from panes.delta.grouped import are_first, cumsum_within, starts_of
from panes.delta.hashing import Hashes, hash_pair, hash_rows, in_buckets_of
from panes.delta.orders import in_order
from panes.delta.rows import take, where
from panes.operators.base import Operator
from panes.operators.tools.places_in_order import PlacesInOrder
from panes.plan import nodes
from panes.plan.sort_key import SortKey, total_order
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_waiting
from panes.state.buffers.timer_queue import TimerQueue

_EVENT = "_event"

_CELLS_AT_ONCE = 300_000
"""Rows near the top of a partition, times instants at which one of them changes: held in memory at once."""

_READ_AT_FIRST = 16
"""Rows of a chunk that are read beyond the top: that number may leave in a span before more must be read."""


@dataclass
class TopN(Operator):
    """The rows number offset + 1 to offset + limit of each partition, kept current.

    Output: when a row comes among these at e, `(row, e, FOREVER, +1)`, and when it goes, `(row, e, FOREVER, -1)`;
        STRICT. With `every_instant` e is each instant at which the input changes, without it the clock of the
        span.
    State: all rows of the input in the order, also those beyond the top, which may come up when others leave; and
        their lifetimes.
    Cost: the rows that come and those that go are sorted. Of the others only those in the top are read, and as
        many more as leave it.
    """

    node: nodes.TopN
    every_instant: bool
    has_until: bool = False
    """Whether the plan has an INTERNAL window, so that its edges carry `_until`."""
    only_grows: bool = False
    """Whether rows of the input never leave."""
    lies_by: tuple[str, ...] = ()
    """The columns that decide the shard of a partition, where these are not all of its own in their order."""
    ordered: OrderedRows = field(init=False)
    expiring: TimerQueue = field(init=False)

    def __post_init__(self) -> None:
        schema = self.node.schema.arrow
        self._order = total_order(self.node.order, schema.names)
        most = self.node.offset + self.node.limit if self.only_grows else None
        self.ordered = choose_for_rows(schema, self._order, self.node.partition_by, most)
        for name, type_ in (
            (FIRST, pa.uint64()), (SECOND, pa.uint64()), (WEIGHT, pa.int64()), (EXP, pa.int64())
        ):  # fmt: skip
            schema = schema.append(pa.field(name, type_))
        self.expiring = choose_for_waiting(schema, "rows leave the order when they expire")

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"ordered": self.ordered, "expiring": self.expiring}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        events = self._events(delta, since, clock)
        if not self.every_instant:
            events = events.at(clock)
        parts = [delta_schema(self.node.schema, weighted=True).empty_table(), *self._apply(events)]
        rows = pa.concat_tables(parts)
        return Delta(rows.append_column(UNTIL, rows.column(EXP)) if self.has_until else rows, clock)

    def _events(self, delta: Delta, since: int, clock: int) -> _Events:
        """The rows that come and those that go."""
        rows = delta.table.select(self.node.schema.names)
        partition = self.node.partition_by
        first, second = hash_pair([rows.column(name) for name in partition], rows.num_rows)
        if self.lies_by:
            first = in_buckets_of(first, hash_rows(rows, self.lies_by))
        exp, weight = delta.exp, delta.weight
        for name, values in ((FIRST, first), (SECOND, second), (WEIGHT, weight), (EXP, exp)):
            rows = rows.append_column(name, pa.array(values))
        going = self.expiring.due(since, clock)
        self.expiring.insert(rows.filter(pa.array((exp > clock) & (exp < FOREVER))))
        gone = pa.concat_tables([going, rows.filter(pa.array(exp <= clock))])
        instants = np.concatenate([delta.ts, gone.column(EXP).to_numpy()])
        counts = np.concatenate([weight, -gone.column(WEIGHT).to_numpy()])
        return _Events(pa.concat_tables([rows, gone]).combine_chunks(), instants, counts)

    def _apply(self, events: _Events) -> Iterator[pa.Table]:
        """Moves the state on by the events, and says what changed."""
        if not len(events.instants):
            return
        near = list(self._near_the_top(events))
        halves = events.halves(near) if sum(part.places.cells for part in near) > _CELLS_AT_ONCE else ()
        if halves:
            for half in halves:
                yield from self._apply(half)
            return
        self.ordered.add(*events.hashes, events.rows, events.counts)
        for part in near:
            rows, at, change = part.places.changes(self.node.offset, self.node.offset + self.node.limit)
            yield _given(part.rows, rows, at, change)

    def _near_the_top(self, events: _Events) -> Iterator[_NearTheTop]:
        """All rows that may be in the top of their partition at an instant of the events."""
        first, second = events.hashes
        partitions, numbers = _numbered(first, second)
        columns = self.node.schema.names
        came = pl.DataFrame(events.rows.select(columns)).with_columns(
            pl.Series(GROUP, numbers),
            pl.lit(0, pl.Int64).alias(COUNT),
            pl.lit(value=False).alias(IS_CUT),
            pl.Series(_EVENT, np.arange(len(numbers))),
        )
        most = self.node.offset + self.node.limit
        read, pending = most + _READ_AT_FIRST, np.arange(len(partitions))
        while len(pending):
            known = self.ordered.first_rows(first[partitions], second[partitions], pending, read)
            known = known.with_columns(pl.lit(-1, pl.Int64).alias(_EVENT))
            if len(pending) < len(partitions):
                came = came.filter(pl.Series(np.isin(came[GROUP].to_numpy(), pending)))
            frame = in_order(pl.concat([known, came]), (SortKey(GROUP), *self._order))
            near, pending = _near(frame, self.node.schema.arrow, events, most)
            yield near
            read *= 8


@dataclass(frozen=True)
class _Events:
    """Rows that come or go, in no order."""

    rows: pa.Table
    instants: Instants
    counts: Ints
    """How many rows each of them stands for, below zero for those that go."""

    @property
    def hashes(self) -> tuple[Hashes, Hashes]:
        return self.rows.column(FIRST).to_numpy(), self.rows.column(SECOND).to_numpy()

    def at(self, clock: int) -> _Events:
        """The same, as if all happened at the clock."""
        return _Events(self.rows, np.full(len(self.instants), clock), self.counts)

    def halves(self, near: Sequence[_NearTheTop]) -> Sequence[_Events]:
        """The events up to an instant and those after it, with about half of what happens near the top in each;
        none when all of that is of one instant."""
        instants = np.sort(np.concatenate([part.places.instants for part in near]))
        if not len(instants) or instants[0] == instants[-1]:
            return ()
        last = instants[len(instants) // 2 - 1]
        if last == instants[-1]:
            last = instants[np.searchsorted(instants, last) - 1]
        is_first = self.instants <= last
        return [self._take(where(is_first)), self._take(where(~is_first))]

    def _take(self, places: Ints) -> _Events:
        return _Events(take(self.rows, places), self.instants[places], self.counts[places])


@dataclass(frozen=True)
class _NearTheTop:
    """Distinct rows near the top of some partitions, in their order, and what happens to them."""

    rows: pa.Table
    places: PlacesInOrder


def _near(frame: pl.DataFrame, schema: pa.Schema, events: _Events, most: int) -> tuple[_NearTheTop, Ints]:
    """The rows that may be in the top, and the partitions of which more must be read to tell.

    `frame` has, in the order, rows that the state knows and those of the events. Rows that are there all the time
    are never fewer than what was there at first less all that goes. Where these come to be as many as the top has,
    it ends: nothing beyond can be in it at any instant.
    """
    starts = np.flatnonzero(are_new(frame, [GROUP, *schema.names]))
    event = frame[_EVENT].to_numpy()
    is_event = event >= 0
    counts = np.zeros(len(event), np.int64)
    counts[is_event] = events.counts[event[is_event]]
    before = np.add.reduceat(frame[COUNT].to_numpy(), starts)
    stays = np.maximum(before + np.add.reduceat(np.minimum(counts, 0), starts), 0)
    is_cut = np.logical_or.reduceat(frame[IS_CUT].to_numpy(), starts)
    partition = frame[GROUP].to_numpy()[starts]
    partitions = starts_of(partition)
    up_to = cumsum_within(stays, partitions)
    cuts = cumsum_within(is_cut.astype(np.int64), partitions)
    # Up to the first row after which something was not read, all is known.
    pending = partition[is_cut & (cuts == 1) & (up_to < most)]
    is_near = (up_to - stays < most) & ~np.isin(partition, pending)
    near, number = where(is_near), np.cumsum(is_near) - 1
    row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(event))))
    mine = where(is_event & is_near[row])
    places = PlacesInOrder(
        partition[near], before[near], number[row[mine]], events.instants[event[mine]], counts[mine]
    )
    rows = frame[starts[near]].select(schema.names).to_arrow().cast(schema).combine_chunks()
    return _NearTheTop(rows, places), pending


def _numbered(first: Hashes, second: Hashes) -> tuple[Ints, Ints]:
    """An event of each partition, in the order of hashes, and for each event the number of its partition."""
    order = np.lexsort((second, first))
    is_first = are_first(first[order], second[order])
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(is_first) - 1
    return order[is_first], numbers


def _given(rows: pa.Table, which: Ints, at: Instants, change: Ints) -> pa.Table:
    """Rows that come and go, each as often as it does."""
    times = np.abs(change)
    given = take(rows, np.repeat(which, times))
    given = given.append_column(TS, pa.array(np.repeat(at, times)))
    given = given.append_column(EXP, pa.array(np.full(given.num_rows, FOREVER)))
    return given.append_column(WEIGHT, pa.array(np.repeat(np.sign(change), times)))
