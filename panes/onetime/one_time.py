"""Asking a query once, of the history as it is after one committed epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from panes.answers.answer import Answer
from panes.answers.instants import instant_of
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.errors import EpochGone
from panes.history.store import History
from panes.onetime.answer import answer_once
from panes.onetime.streams import why_not_once
from panes.onetime.what_is_missing import what_is_missing
from panes.plan.nodes import Node
from panes.plan.stream import Stream
from panes.state.epochs import EpochLog, EpochRecord

Streams = Callable[[], Mapping[str, Stream]]


class WhyNot(NamedTuple):
    reason: str
    hint: str


class OneTime:
    """Answers without a standing query, for any number of threads, while epochs run.

    What is read is held, as for readers of standing answers: an answer is of one epoch, entirely.
    """

    def __init__(self, log: EpochLog, history: History, streams: Streams) -> None:
        self._log = log
        self._history = history
        self._streams = streams
        """Gives the base streams of the moment, by name."""

    def why_not(self, plan: Node) -> WhyNot | None:
        """Why a query cannot be asked once; None when it can."""
        reason = why_not_once(plan)
        if reason is not None:
            return WhyNot(reason, "register it, to follow it: CREATE QUERY name AS …")
        with self._latest() as record:
            missing = (
                None if record is None else what_is_missing(plan, self._streams(), self._history, record)
            )
        if missing is None:
            return None
        hint = "a stream keeps what RETAIN INTERVAL … says, or what the registered queries on it need"
        return WhyNot(missing, hint)

    def answer(self, plan: Node, as_of: datetime | str | None = None) -> Answer:
        """The answer over what is kept, as of the last epoch, or at an instant of one that is still kept.

        A query that gives a stream has no answer before its first epoch.
        """
        if as_of is not None:
            return self._answer_at(plan, instant_of(as_of))
        with self._latest() as record:
            if record is None or why_not_once(plan) is not None:
                return Answer(None, plan.schema.arrow.empty_table())
            return answer_once(plan, self._streams(), self._history, record)

    def _answer_at(self, plan: Node, instant: int) -> Answer:
        for epoch in self._log.epochs:
            with self._log.holds.hold(epoch):
                record = self._log.record(epoch)
                if record.since < instant <= record.clock:
                    return answer_once(plan, self._streams(), self._history, record, now=instant)
        kept = [self._log.record(epoch) for epoch in self._log.epochs]
        if kept and instant > kept[-1].clock > BEGINNING:
            come = f"the clock has come to {to_datetime(kept[-1].clock).isoformat()}"
            raise EpochGone(f"the answer at {to_datetime(instant).isoformat()} is not known yet: {come}")
        raise EpochGone(
            f"the answer at {to_datetime(instant).isoformat()} is not kept; "
            "SET retain_epochs to a larger number to keep more from now on"
        )

    @contextmanager
    def _latest(self) -> Iterator[EpochRecord | None]:
        """Holds the last committed epoch; None when there is none yet."""

        def latest() -> int | None:
            record = self._log.latest()
            return None if record is None else record.epoch

        with self._log.held(latest) as hold:
            yield None if hold is None else self._log.record(hold.epoch)
