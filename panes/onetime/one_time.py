"""Asking a query once, of the history as it is after one committed epoch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from panes.answers.answer import Answer
from panes.answers.instants import instant_of
from panes.answers.sorted_rows import sorted_rows
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.errors import EpochGone
from panes.history.history_store import History
from panes.history.query_clocks import KnownClocks, QueryClocks
from panes.onetime.answer_from_tables import answer_from_tables
from panes.onetime.answer_once import answer_once
from panes.onetime.can_ask_once import why_not_once
from panes.onetime.missing_history import missing_history
from panes.plan.nodes import Node
from panes.plan.order_of_answer import order_of, relation_of
from panes.plan.stream import Stream
from panes.plan.walk import is_table_only, streams_of
from panes.state.storage.epoch_log import EpochLog
from panes.tables.table_store import Tables

Streams = Callable[[], Mapping[str, Stream]]


class WhyNot(NamedTuple):
    reason: str
    hint: str


class OneTime:
    """Answers without a standing query, for any number of threads, while epochs run.

    What is read is held, as for readers of standing answers: an answer is of one epoch, entirely.
    """

    def __init__(
        self, log: EpochLog, history: History, streams: Streams, tables: Tables | None = None
    ) -> None:
        self._log = log
        self._tables = tables
        self._history = history
        self._streams = streams
        """Gives the base streams of the moment, by name."""
        self._clocks = KnownClocks(log)

    def why_not(self, plan: Node) -> WhyNot | None:
        """Why a query cannot be asked once; None when it can."""
        reason = why_not_once(plan)
        if reason is not None:
            return WhyNot(reason, "register it, to follow it: CREATE QUERY name AS …")
        if is_table_only(plan):
            return None
        with self._latest() as epoch:
            missing = None
            if epoch is not None:
                now = self._clocks_of(plan).at(epoch)
                missing = missing_history(plan, self._streams(), self._history, epoch, now)
        if missing is None:
            return None
        hint = "a stream keeps what RETAIN INTERVAL … says, or what the registered queries on it need"
        return WhyNot(missing, hint)

    def answer(self, plan: Node, as_of: datetime | str | None = None) -> Answer:
        """The answer over what is kept, as of the last epoch, or at an instant of one that is still kept.

        Its clock is that of the slowest stream that it reads. A query that gives a stream has no answer before its
        first epoch. One that reads tables alone sees what has been changed up to now, whether an epoch has applied
        it or not.
        """
        answer = self._answer(relation_of(plan), as_of)
        return replace(answer, table=sorted_rows(answer.table, plan), is_sorted=bool(order_of(plan)))

    def _answer(self, plan: Node, as_of: datetime | str | None) -> Answer:
        if is_table_only(plan):
            assert self._tables is not None
            return answer_from_tables(plan, self._tables, None if as_of is None else instant_of(as_of))
        if as_of is not None:
            return self._answer_at(plan, instant_of(as_of))
        with self._latest() as epoch:
            if epoch is None or why_not_once(plan) is not None:
                return Answer(None, plan.schema.arrow.empty_table())
            clocks = self._clocks_of(plan)
            now = clocks.at(epoch)
            return answer_once(plan, self._streams(), self._history, epoch, now, clocks, self._tables)

    def _answer_at(self, plan: Node, instant: int) -> Answer:
        asked = f"the answer at {to_datetime(instant).isoformat()}"
        with self._log.held(lambda: min(self._log.epochs, default=None)) as hold:
            clocks = self._clocks_of(plan)
            epoch = None if hold is None else _epoch_at(clocks, instant)
            if epoch is not None:
                streams = self._streams()
                return answer_once(plan, streams, self._history, epoch, instant, clocks, self._tables)
        last = max(clocks.by_epoch.values(), default=BEGINNING)
        if instant > last > BEGINNING:
            raise EpochGone(
                f"{asked} is not known yet: its clock has come to {to_datetime(last).isoformat()}"
            )
        raise EpochGone(f"{asked} is not kept; SET retain_epochs to a larger number to keep more from now on")

    def _clocks_of(self, plan: Node) -> QueryClocks:
        streams = self._streams()
        return self._clocks.of(streams[name].number for name in streams_of(plan))

    @contextmanager
    def _latest(self) -> Iterator[int | None]:
        """Holds the last committed epoch; None when there is none yet."""
        with self._log.held(lambda: max(self._log.epochs, default=None)) as hold:
            yield None if hold is None else hold.epoch


def _epoch_at(clocks: QueryClocks, instant: int) -> int | None:
    """The epoch that knows the answer at an instant: the last one that ended then, or else the first one after."""
    epochs = list(clocks.by_epoch)
    ended = bisect_right(epochs, instant, key=clocks.at)
    if ended and clocks.at(epochs[ended - 1]) == instant:
        return epochs[ended - 1]
    is_known = ended > 0 or epochs[:1] == [0]
    return epochs[ended] if is_known and ended < len(epochs) else None
