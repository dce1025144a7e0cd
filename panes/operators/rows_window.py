"""Count windows: the youngest tuples of a stream, or of each partition of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from panes.aggregates.accumulator_table import FIRST, SECOND, AccumulatorTable
from panes.aggregates.base import Ints
from panes.aggregates.choose_state import choose_for_sums
from panes.delta.delta import EXP, FOREVER, PANE, TS, UNTIL, WEIGHT, Delta, Instants
from panes.delta.grouped import starts_of
from panes.delta.hashing import hash_pair, hash_rows, in_buckets_of
from panes.delta.rows import Positions, take
from panes.operators.base import Operator
from panes.plan.window_of_panes import pane_numbers
from panes.plan.windows import RowsWindow as Spec
from panes.plan.windows import round_up
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_retractions
from panes.state.buffers.keyed import Keyed

_AT = "_at"
"""The number of the tuple, within the partition, at which something is to happen to a stored row."""
_LEAVES = "_leaves"
"""The number of the tuple at which a row leaves the window."""
_KEYS = (FIRST, SECOND, _AT)


@dataclass
class RowsWindow(Operator):
    """`[ROWS n]`, `[ROWS n SLIDE m]` and `[PARTITION BY … ROWS n]`, also with SLIDE in time.

    The tuples of a partition are numbered 1, 2, … in the order of time, and those of one instant in the
    order of arrival (a tuple that came late is numbered when it came). Results of a query have no order of
    arrival: those of one instant are numbered in the order of their values. Tuple j comes into the window with
    the first tuple not before j whose number is a multiple of m, and leaves with the first such tuple not
    before j + n; without SLIDE m is 1. Where the window slides in time, both happen at the next multiple of the
    slide, which may lie after the clock: a ReleaseOnTime follows that cancels what comes and leaves together.

    Output: a row when the tuple comes into the window, and its retraction when it leaves; STRICT. A tuple
        that does both at the same instant is not seen.
    State: the tuples of the window by the number at which they leave, with SLIDE those that still wait to
        come in, and the last number of each partition.
    Cost: the tuples that come and those that leave; a search per tuple in each chunk.
    """

    spec: Spec
    has_until: bool = False
    """Whether the plan has an INTERNAL window, so that its edges carry `_until`."""
    ties_by_value: bool = False
    """Whether the tuples are results of a query."""
    names_panes: bool = False
    """Whether rows say in which pane they are: those of one pane come and leave together."""
    lies_by: tuple[str, ...] = ()
    """The columns that decide the shard of a partition, where these are not all of its own in their order."""
    numbers: AccumulatorTable = field(init=False)
    waiting: Keyed = field(init=False)
    inside: Keyed = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = choose_for_sums(self.spec.partition_by, "tuples of each partition are counted")
        self.waiting = choose_for_retractions(_KEYS, "the tuple that lets a row in finds it by number")
        self.inside = choose_for_retractions(_KEYS, "the tuple that pushes a row out finds it by number")

    @property
    def buffers(self) -> Mapping[str, State]:
        buffers: dict[str, State] = {"numbers": self.numbers, "inside": self.inside}
        return buffers | {"waiting": self.waiting} if self.spec.slide else buffers

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        batch = self._number(delta)
        coming, by = batch.rows, np.arange(delta.rows)
        coming_at = batch.times(by, _ints(coming, _AT))
        if self.spec.slide:
            known = coming_at < FOREVER
            ready, ready_by = self._due(self.waiting, batch)
            self.waiting.insert(coming.filter(pa.array(~known)))
            coming = pa.concat_tables([ready, coming.filter(pa.array(known))])
            by = np.concatenate([ready_by, by[known]])
            coming_at = batch.times(by, _ints(coming, _AT))
        gone_at = batch.times(by, _ints(coming, _LEAVES))
        leaving, leaving_by = self._due(self.inside, batch)
        stays = coming.filter(pa.array(gone_at == FOREVER))
        self.inside.insert(stays.set_column(stays.column_names.index(_AT), _AT, stays.column(_LEAVES)))
        came = self._output(coming, coming_at, gone_at, 1)
        left = self._output(leaving, batch.ts[leaving_by], np.full(len(leaving_by), FOREVER), -1)
        return Delta(pa.concat_tables([came, left]), clock)

    def _number(self, delta: Delta) -> _Batch:
        """The tuples with their numbers, and the numbers at which they come into the window and leave it."""
        if self.ties_by_value:
            delta = Delta(take(delta.table, _order_by_value(delta.values)), delta.clock)
        keys = [delta.table.column(key) for key in self.spec.partition_by]
        first, second = hash_pair(keys, delta.rows)
        if self.lies_by:
            first = in_buckets_of(first, hash_rows(delta.table, self.lies_by))
        order = np.lexsort((delta.ts, second, first))
        first, second, ts = first[order], second[order], delta.ts[order]
        starts = starts_of(first, second)
        lengths = np.diff(np.append(starts, len(first)))
        had = self.numbers.add(first[starts], second[starts], {0: lengths})
        last = had.get(0, np.zeros(len(starts), np.int64))
        before = np.repeat(last, lengths)
        start = np.repeat(starts, lengths)
        number = np.arange(1, len(first) + 1) - start + before
        comes, leaves = self.spec.numbers(number)
        rows = delta.values.take(pa.array(order))
        columns = {
            FIRST: first,
            SECOND: second,
            _AT: comes,
            _LEAVES: leaves,
            EXP: np.full(len(first), FOREVER),
        }
        if self.names_panes:
            columns[PANE] = pane_numbers(self.spec, comes, leaves)
        for name, values in columns.items():
            rows = rows.append_column(name, pa.array(values))
        return _Batch(rows, ts, number, before, start, np.repeat(lengths, lengths))

    def _due(self, state: Keyed, batch: _Batch) -> tuple[pa.Table, Ints]:
        """Takes from the state the rows that waited for the number of a tuple, and says for which tuple."""
        wanted = pa.table({FIRST: batch.rows[FIRST], SECOND: batch.rows[SECOND], _AT: batch.number})
        which, found = state.probe(wanted)
        if not len(which):
            return batch.rows.slice(0, 0), np.zeros(0, np.int64)
        state.remove(found)
        # Equal tuples that waited together may have become one row of the state.
        copies = np.repeat(np.arange(len(which)), _ints(found, WEIGHT))
        return found.select(batch.rows.column_names).take(pa.array(copies)), which[copies]

    def _output(self, rows: pa.Table, ts: Instants, exp: Instants, weight: int) -> pa.Table:
        rows = rows.drop_columns([FIRST, SECOND, _AT, _LEAVES, EXP])
        if self.spec.slide_us is not None:
            ts, exp = _at_slides(ts, self.spec.slide_us), _at_slides(exp, self.spec.slide_us)
        rows = rows.append_column(TS, pa.array(ts)).append_column(EXP, pa.array(exp))
        rows = rows.append_column(WEIGHT, pa.array(np.full(len(ts), weight)))
        if self.has_until:
            rows = rows.append_column(
                UNTIL, pa.array(np.full(len(ts), FOREVER) if self.spec.internal else exp)
            )
        return rows.filter(pa.array(ts < exp))


@dataclass(frozen=True)
class _Batch:
    """New tuples, sorted by partition and number."""

    rows: pa.Table
    ts: Instants
    number: Ints
    before: Ints
    """The last number of the partition before this batch."""
    start: Ints
    """Where the partition begins."""
    length: Ints
    """How many tuples of the partition are in the batch."""

    def times(self, by: Ints, numbers: Ints) -> Instants:
        """When the tuples of these numbers come, in the partitions of the tuples `by`; FOREVER when later
        than all of the batch."""
        place = numbers - self.before[by] - 1
        here = place < self.length[by]
        times = np.full(len(by), FOREVER)
        times[here] = self.ts[self.start[by[here]] + place[here]]
        return times


def _at_slides(instants: Instants, slide_us: int) -> Instants:
    """The next slides; FOREVER stays."""
    known = instants < FOREVER
    return np.where(known, round_up(np.where(known, instants, 0), slide_us), FOREVER)


def _ints(table: pa.Table, name: str) -> Ints:
    return np.asarray(table.column(name).to_numpy())


def _order_by_value(rows: pa.Table) -> Positions:
    """The rows in the order of their columns; NULL comes first, NaN last."""
    order = pl.DataFrame(rows).select(pl.arg_sort_by(rows.column_names))
    return order.to_series().to_numpy().astype(np.int64)
