"""Session windows: the tuples of a stream, or of each partition of it, since the last pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from panes.aggregates.accumulator_table import FIRST, SECOND, AccumulatorTable
from panes.aggregates.base import Accumulators, Ints
from panes.aggregates.choose_state import choose_for_sums
from panes.delta.delta import EXP, FOREVER, TS, UNTIL, WEIGHT, Delta, Instants
from panes.delta.grouped import are_first
from panes.delta.hashing import Hashes, hash_pair, hash_rows, in_buckets_of
from panes.delta.rows import Positions, int64, take, where
from panes.operators.base import Operator
from panes.plan.windows import SessionWindow as Spec
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_for_retractions, choose_for_waiting
from panes.state.buffers.keyed import Keyed
from panes.state.buffers.timer_queue import TimerQueue

_BEGAN = "_began"
"""The instant at which the session of a stored row began: two sessions of a partition never share it."""
_KEYS = [FIRST, SECOND, _BEGAN]
_OPEN, _LAST, _BEGIN = 0, 1, 2
"""The numbers that are kept of each partition: 1 while it has a session, when this last got a tuple, and when it
began."""


@dataclass
class SessionWindow(Operator):
    """`[SESSION d]` and `[PARTITION BY … SESSION d]`.

    A tuple belongs to the open session of its partition when it comes less than d after the last one, else it
    begins a session. A session ends when d has passed since its last tuple.

    Output: a row when the tuple comes, and when the session ends the retractions of all its rows; STRICT.
    State: the tuples of open sessions by partition, when the session of each partition began and last got a tuple,
        and the instants at which sessions may end.
    Cost: the tuples that come and those that leave. Partitions to which nothing comes are not touched until their
        session may end; an end that a later tuple has put off costs a look at its partition.
    """

    keeps_time: ClassVar[bool] = True
    spec: Spec
    has_until: bool = False
    """Whether the plan has an INTERNAL window, so that its edges carry `_until`."""
    lies_by: tuple[str, ...] = ()
    """The columns that decide the shard of a partition, where these are not all of its own in their order."""
    sessions: AccumulatorTable = field(init=False)
    inside: Keyed = field(init=False)
    closing: TimerQueue = field(init=False)

    def __post_init__(self) -> None:
        self.sessions = choose_for_sums(self.spec.partition_by, "a session is extended by its next tuple")
        self.inside = choose_for_retractions(_KEYS, "a session that ends finds its rows")
        timer = pa.schema([(FIRST, pa.uint64()), (SECOND, pa.uint64()), (EXP, pa.int64())])
        self.closing = choose_for_waiting(timer, "sessions end when nothing came for the gap")

    @property
    def buffers(self) -> Mapping[str, State]:
        return {"sessions": self.sessions, "inside": self.inside, "closing": self.closing}

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        (delta,) = inputs
        partitions = self._partitions(delta, self.closing.due(since, clock))
        before = self.sessions.look_up(partitions.first, partitions.second)
        events = self._events(partitions, before, delta)
        self._note(partitions, before, events, clock)
        leaves = np.where(events.ends <= clock, events.ends, FOREVER)
        came = where(events.row >= 0)
        rows = take(delta.values, events.row[came])
        stays = leaves[came] == FOREVER
        self._keep(rows.filter(pa.array(stays)), _session_keys(partitions, events, came[stays]))
        gone, gone_at = self._take_out(partitions, events, where((events.row < 0) & (leaves < FOREVER)), rows)
        coming = self._output(rows, events.ts[came], leaves[came], 1)
        going = self._output(gone, gone_at, np.full(len(gone_at), FOREVER), -1)
        return Delta(pa.concat_tables([coming, going]), clock)

    def _partitions(self, delta: Delta, due: pa.Table) -> _Partitions:
        """The partitions that get tuples, and those whose session may end."""
        first, second = hash_pair([delta.table.column(key) for key in self.spec.partition_by], delta.rows)
        if self.lies_by:
            first = in_buckets_of(first, hash_rows(delta.table, self.lies_by))
        first = np.concatenate([first, due.column(FIRST).to_numpy()])
        second = np.concatenate([second, due.column(SECOND).to_numpy()])
        order = np.lexsort((second, first))
        is_first = are_first(first[order], second[order])
        code = np.empty(len(order), np.int64)
        code[order] = np.cumsum(is_first) - 1
        one = order[is_first]
        return _Partitions(first[one], second[one], code[: delta.rows])

    def _events(self, partitions: _Partitions, before: Accumulators, delta: Delta) -> _Events:
        """The last tuple of each session that was open before the span, and the tuples that come."""
        carried = where(_number(before, _OPEN, partitions) > 0)
        code = np.concatenate([carried, partitions.of_row])
        ts = np.concatenate([_number(before, _LAST, partitions)[carried], delta.ts])
        began = np.concatenate([_number(before, _BEGIN, partitions)[carried], delta.ts])
        row = np.concatenate([np.full(len(carried), -1), np.arange(delta.rows)])
        order = np.lexsort((ts, code))
        code, ts, began, row = code[order], ts[order], began[order], row[order]
        begins = are_first(code)
        begins[1:] |= ts[1:] - ts[:-1] >= self.spec.gap_us
        starts = where(begins)
        lengths = np.diff(np.append(starts, len(code)))
        ends = np.repeat(ts[starts + lengths - 1] + self.spec.gap_us, lengths)
        return _Events(code, ts, row, np.repeat(began[starts], lengths), ends)

    def _note(self, partitions: _Partitions, before: Accumulators, events: _Events, clock: int) -> None:
        """Notes which sessions are open after the span, and when they may end."""
        is_last = np.append(events.code[1:] != events.code[:-1], True)[: len(events.code)]
        last = where(is_last & (events.ends > clock))
        at = events.code[last]
        after = {number: np.zeros(len(partitions.first), np.int64) for number in (_OPEN, _LAST, _BEGIN)}
        after[_OPEN][at], after[_LAST][at], after[_BEGIN][at] = 1, events.ts[last], events.began[last]
        changes = {number: now - _number(before, number, partitions) for number, now in after.items()}
        self.sessions.add(partitions.first, partitions.second, changes)
        extended = last[events.row[last] >= 0]  # else its end is noted already
        at = events.code[extended]
        ends = {FIRST: partitions.first[at], SECOND: partitions.second[at], EXP: events.ends[extended]}
        self.closing.insert(pa.table(ends))

    def _take_out(
        self, partitions: _Partitions, events: _Events, ended: Positions, like: pa.Table
    ) -> tuple[pa.Table, Instants]:
        """Takes the rows of sessions out of the state, and says when each leaves."""
        which, found = self.inside.probe(_session_keys(partitions, events, ended))
        if not len(which):
            return like.slice(0, 0), np.zeros(0, np.int64)
        self.inside.remove(found)
        # Equal tuples of a session may have become one row of the state.
        copies = np.repeat(np.arange(len(which)), int64(found, WEIGHT))
        return take(found, copies, like.column_names), events.ends[ended[which[copies]]]

    def _keep(self, rows: pa.Table, keys: pa.Table) -> None:
        """Remembers rows by their session until it ends."""
        for name in _KEYS:
            rows = rows.append_column(name, keys.column(name))
        self.inside.insert(rows.append_column(EXP, pa.array(np.full(rows.num_rows, FOREVER))))

    def _output(self, rows: pa.Table, ts: Instants, exp: Instants, weight: int) -> pa.Table:
        rows = rows.append_column(TS, pa.array(ts)).append_column(EXP, pa.array(exp))
        rows = rows.append_column(WEIGHT, pa.array(np.full(len(ts), weight)))
        return rows.append_column(UNTIL, pa.array(exp)) if self.has_until else rows


@dataclass(frozen=True)
class _Partitions:
    """The partitions that a span concerns, sorted by their hashes."""

    first: Hashes
    second: Hashes
    of_row: Positions
    """The number of the partition of each tuple that comes."""


@dataclass(frozen=True)
class _Events:
    """Tuples, sorted by partition and time."""

    code: Positions
    """The number of the partition."""
    ts: Instants
    row: Positions
    """Which of the tuples that come it is; -1 for the last tuple of a session that was open before."""
    began: Instants
    """When its session began."""
    ends: Instants
    """When its session ends, as far as is known."""


def _session_keys(partitions: _Partitions, events: _Events, places: Positions) -> pa.Table:
    """By what the rows of the sessions of these tuples are found."""
    code = events.code[places]
    return pa.table([partitions.first[code], partitions.second[code], events.began[places]], names=_KEYS)


def _number(accumulators: Accumulators, number: int, partitions: _Partitions) -> Ints:
    return accumulators.get(number, np.zeros(len(partitions.first), np.int64))
