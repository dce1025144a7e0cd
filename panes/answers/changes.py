"""What changed in an answer during an epoch: which rows appeared and which went, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from panes.answers.answer_source import AnswerSource
from panes.answers.answer_store import repeated, summed
from panes.answers.invoke import invoke
from panes.clock import to_datetime
from panes.delta.consolidate import AT
from panes.delta.delta import ALWAYS, BEGINNING, WEIGHT, Instants
from panes.delta.rows import int64, with_column
from panes.state.storage.epoch_log import QueryProgress

_INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Change:
    """What an epoch did to an answer.

    `table` has the columns of the answer, `_at` (the instant of the change) and `_weight` (how many times the row
    appears then; below zero, how many times it goes), in the order of `_at`. What appears and goes at one
    instant is not in it. So the weights of all changes up to an instant add up to the answer at that instant.
    """

    epoch: int
    as_of: datetime
    """The instant of the answer after the change."""
    table: pa.Table
    is_whole: bool = False
    """Whether it leads from nothing to the whole answer: so begins a reader that knows nothing yet."""

    @property
    def inserted(self) -> pa.Table:
        """The rows that appeared, each as often as it did, with the columns of the answer alone."""
        return self._rows(1)

    @property
    def deleted(self) -> pa.Table:
        """The rows that went, each as often as it did, with the columns of the answer alone."""
        return self._rows(-1)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return f"<Change of epoch {self.epoch}, as of {self.as_of.isoformat()}: {len(self)} rows>"

    def _rows(self, sign: int) -> pa.Table:
        weight = sign * int64(self.table, WEIGHT)
        rows = self.table.drop_columns([AT, WEIGHT]).append_column(WEIGHT, pa.array(weight))
        return repeated(rows.filter(pa.array(weight > 0)))


def change_in(standing: AnswerSource, ran: QueryProgress) -> Change:
    """What an epoch that has the query did to its answer. The one before must be kept, if that had it too."""
    events = standing.rows.events(ran, is_first=standing.begins_in(ran))
    events = events.select([*standing.schema.names, AT, WEIGHT])
    begin = max(_beginning(int64(events, AT), ran), standing.whole_from)
    begin = begin if standing.is_known_between_clocks else _told_at(standing, ran)
    events = with_column(events, AT, np.maximum(int64(events, AT), begin))
    table = _netted(events)
    if standing.of_nothing is not None:
        table = _netted(pa.concat_tables([table, _of_nothing(standing, ran, table, begin)]))
    return _change(standing, ran, table, is_whole=_is_from_nothing(standing, ran))


def _is_from_nothing(standing: AnswerSource, ran: QueryProgress) -> bool:
    return standing.is_whole_first_in(ran) or ran.since == BEGINNING


def whole_answer(standing: AnswerSource, ran: QueryProgress) -> Change:
    """The answer as of an epoch, as if all of it had appeared then."""
    rows = invoke(standing, ran).table
    ones = np.ones(rows.num_rows, np.int64)
    table = _netted(_events(rows, ones * _told_at(standing, ran), ones))
    return _change(standing, ran, table, is_whole=True)


def _told_at(standing: AnswerSource, ran: QueryProgress) -> int:
    """The instant at which an answer changes that is known at the end of epochs only: the clock, or the slide that
    was refreshed by deadline."""
    return standing.as_of(ran, ran.clock) if standing.is_refreshed else ran.clock


def _change(standing: AnswerSource, ran: QueryProgress, table: pa.Table, *, is_whole: bool) -> Change:
    place = table.column_names.index(AT)
    table = table.set_column(place, AT, table.column(AT).cast(_INSTANT))
    return Change(ran.epoch, to_datetime(standing.as_of(ran, ran.clock)), table, is_whole)


def _events(rows: pa.Table, at: Instants, weight: Instants) -> pa.Table:
    return rows.append_column(AT, pa.array(at)).append_column(WEIGHT, pa.array(weight))


def _netted(events: pa.Table) -> pa.Table:
    """One row for each value and instant, without those that cancel out, in the order of time."""
    return summed(events, [name for name in events.column_names if name != WEIGHT]).sort_by(AT)


def _beginning(at: Instants, ran: QueryProgress) -> int:
    """The first instant to tell of.

    The windows of a query that begins with history are whole at the clock of the epoch before, not earlier. And
    before the first tuple of all there was nothing to tell.
    """
    if ran.since > BEGINNING:
        return ran.since
    told = at[at > ALWAYS]
    return int(told.min()) if len(told) else ran.clock


def _of_nothing(standing: AnswerSource, ran: QueryProgress, changes: pa.Table, begin: int) -> pa.Table:
    """When the rows that stand for nothing appear, because there are no others, and when they go."""
    assert standing.of_nothing is not None
    rows = standing.of_nothing.select(standing.schema.names)
    after = standing.rows.at(ran, ran.clock, is_first=standing.begins_in(ran)).num_rows
    weight = int64(changes, WEIGHT)
    before = after - int(weight.sum())
    instants, place = np.unique(np.append(int64(changes, AT), begin), return_inverse=True)
    amounts = np.zeros(len(instants), np.int64)
    np.add.at(amounts, place[:-1], weight)
    is_shown = before + np.cumsum(amounts) == 0
    was_shown = np.append(not standing.is_whole_first_in(ran) and before == 0, is_shown[:-1])
    turns = np.repeat(np.flatnonzero(is_shown != was_shown), rows.num_rows)
    repeats = len(turns) // max(rows.num_rows, 1)
    shown = rows.take(pa.array(np.tile(np.arange(rows.num_rows), repeats)))
    return _events(shown, instants[turns], np.where(is_shown[turns], 1, -1))
