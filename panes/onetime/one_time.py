"""Asking a query once, of the history as it is after one committed epoch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from panes.answers.answer import Answer
from panes.answers.instants import instant_of, last_slide
from panes.answers.sorted_rows import sorted_rows
from panes.clock import to_datetime
from panes.config import LATEST, SNAPSHOT
from panes.delta.delta import BEGINNING
from panes.errors import EpochGone, WindowMoved
from panes.history.history_store import History
from panes.history.query_clocks import KnownClocks, QueryClocks
from panes.onetime.answer_from_tables import answer_from_tables, answer_from_tables_in
from panes.onetime.answer_once import answer_once
from panes.onetime.can_ask_once import has_streams, why_not_once
from panes.onetime.contents import leaves
from panes.onetime.file_partials import FilePartials, file_partials
from panes.onetime.history_scans import files_within
from panes.onetime.missing_history import history_complete_from, missing_history
from panes.plan.nodes import Node, Window
from panes.plan.now import has_now
from panes.plan.order_of_answer import order_of, relation_of
from panes.plan.stream import Stream
from panes.plan.walk import is_table_only, streams_of
from panes.plan.windows import UnboundedWindow
from panes.state.storage.epoch_log import BEFORE_ALL, EpochLog
from panes.tables.table_store import Tables

Streams = Callable[[], Mapping[str, Stream]]
Step = Callable[[Callable[[], Any]], Any]
"""Does a part of the work when it has its turn, and gives what that gives."""

_RUNS = 5
"""How many times a query runs before it is given up that epochs overtake while it runs."""
_EPOCHS = 1_000
"""The most epochs that an aggregate takes in while it is read file by file."""
_WHAT_TO_DO = (
    f"isolation = '{SNAPSHOT}' gives the answer as of its start, and a registered query has its answer ready"
)


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

    def answer(
        self,
        plan: Node,
        as_of: datetime | str | None = None,
        *,
        isolation: str = SNAPSHOT,
        epoch: int | None = None,
        step: Step = lambda work: work(),
    ) -> Answer:
        """The answer over what is kept, as of the last epoch, or at an instant of one that is still kept.

        Its clock is that of the slowest stream that it reads. A query that gives a stream has no answer before its
        first epoch. One that reads tables alone sees what has been changed up to now, whether an epoch has applied
        it or not.

        Under `latest` it is as of the epoch that is the last one when this returns: raises WindowMoved when epochs
        overtake it again and again. With `epoch`, which the caller holds, it is as of that one, also of tables
        alone.
        """
        relation = relation_of(plan)
        if is_table_only(plan) or as_of is not None:
            answer: Answer = step(lambda: self._now_or_then(relation, as_of, epoch))
        elif isolation == LATEST and epoch is None:
            answer = self._as_of_the_end(relation, step)
        else:
            answer = step(lambda: self._as_of(relation, epoch))
        return replace(answer, table=sorted_rows(answer.table, plan), is_sorted=bool(order_of(plan)))

    def clock_at(self, plan: Node, epoch: int) -> int:
        """The instant of an answer as of an epoch that is kept: the least clock of the streams that it reads."""
        return self._clocks_of(plan).at(epoch)

    def has_all(self, plan: Node, epoch: int) -> bool:
        """Whether the history has all rows that the windows of a plan hold as of an epoch that is kept."""
        now = self.clock_at(plan, epoch)
        return history_complete_from(plan, self._streams(), self._history, epoch, now) is None

    def files_read(self, plan: Node) -> int:
        """How many files of the history an answer as of the last epoch is read from."""
        with self._latest() as epoch:
            if epoch is None:
                return 0
            streams, clocks = self._streams(), self._clocks_of(plan)
            now = clocks.at(epoch)
            found = set()
            for leaf in [] if now == BEGINNING else leaves(plan):
                spec = leaf.spec if isinstance(leaf, Window) else UnboundedWindow()
                for name in streams_of(leaf):
                    kept = self._history.at(streams[name].number, epoch)
                    is_alone = len(streams_of(plan)) == 1
                    reach = UnboundedWindow().reach(now) if has_streams(plan) else spec.reach(now)
                    files, _ = files_within(kept, reach, now, is_alone=is_alone)
                    found |= {file.path for file in files}
            return len(found)

    def _now_or_then(self, plan: Node, as_of: datetime | str | None, epoch: int | None) -> Answer:
        """The answer of tables alone, or at an instant."""
        if is_table_only(plan):
            assert self._tables is not None
            if as_of is None and epoch is not None and epoch != BEFORE_ALL:
                return answer_from_tables_in(plan, self._tables, self._log.record(epoch))
            return answer_from_tables(plan, self._tables, None if as_of is None else instant_of(as_of))
        assert as_of is not None
        return self._answer_at(plan, instant_of(as_of))

    def _as_of(self, plan: Node, epoch: int | None) -> Answer:
        """The answer as of an epoch; None: the last one."""
        with self._latest(epoch) as held:
            nothing = Answer(None, plan.schema.arrow.empty_table())
            if held is None or why_not_once(plan) is not None:
                return nothing if held is None else self._dated(nothing, held)
            clocks = self._clocks_of(plan)
            now = clocks.at(held)
            answer = answer_once(plan, self._streams(), self._history, held, now, clocks, self._tables)
            return self._dated(answer, held)

    def _as_of_the_end(self, plan: Node, step: Step) -> Answer:
        """The answer as of an epoch that is still the last one when it is there."""
        is_read_whole = has_now(plan) or why_not_once(plan) is not None
        partials = None if is_read_whole else file_partials(plan, self._streams())
        if partials is not None:
            return self._file_by_file(partials, step)
        for _ in range(_RUNS):
            answer: Answer = step(lambda: self._as_of(plan, None))
            if self._is_last(answer.epoch):
                return answer
        raise WindowMoved(
            f"the query was run {_RUNS} times, and each time an epoch was committed; {_WHAT_TO_DO}"
        )

    def _file_by_file(self, partials: FilePartials, step: Step) -> Answer:
        """The same of an aggregate over one window: what was summed of a file stays, so that an epoch that comes
        meanwhile adds the files that it brought."""
        number = partials.stream.number
        with self._latest() as epoch:
            if epoch is None:
                return Answer(None, partials.plan.schema.arrow.empty_table())
            files, begun = list(self._history.at(number, epoch).files), epoch
            while epoch - begun <= _EPOCHS:
                now = self._clocks.of([number]).at(epoch)
                unread = partials.unread(files, now)
                if unread:
                    step(partial(partials.read, unread[0], now))
                else:
                    table = step(partials.answer)
                    if self._is_last(epoch):
                        return self._summed(partials, table, epoch)
                files += self._history.brought(number, epoch, last := self._log.last)
                epoch = last
        raise WindowMoved(f"{_EPOCHS} epochs were committed before the query was answered; {_WHAT_TO_DO}")

    def _summed(self, partials: FilePartials, table: pa.Table, epoch: int) -> Answer:
        plan, now = partials.plan, self._clocks.of([partials.stream.number]).at(epoch)
        if now == BEGINNING:
            return self._dated(Answer(None, plan.schema.arrow.empty_table()), epoch)
        since = history_complete_from(plan, self._streams(), self._history, epoch, now)
        complete_from = None if since is None else to_datetime(since)
        return self._dated(Answer(to_datetime(last_slide(plan, now)), table, complete_from), epoch)

    def _is_last(self, epoch: int | None) -> bool:
        return self._log.last == (BEFORE_ALL if epoch is None else epoch)

    def _dated(self, answer: Answer, epoch: int) -> Answer:
        return replace(answer, epoch=epoch, committed=to_datetime(self._log.record(epoch).finished_us))

    def _answer_at(self, plan: Node, instant: int) -> Answer:
        asked = f"the answer at {to_datetime(instant).isoformat()}"
        with self._log.held(lambda: min(self._log.epochs, default=None)) as hold:
            clocks = self._clocks_of(plan)
            epoch = None if hold is None else _epoch_at(plan, clocks, instant)
            if epoch is not None:
                streams = self._streams()
                answer = answer_once(plan, streams, self._history, epoch, instant, clocks, self._tables)
                return self._dated(answer, epoch)
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
    def _latest(self, epoch: int | None = None) -> Iterator[int | None]:
        """Holds the last committed epoch, or one that is kept; None when there is none yet, and before all."""

        def chosen() -> int | None:
            kept = self._log.epochs
            if epoch == BEFORE_ALL:
                return None
            return epoch if epoch is not None and epoch in kept else max(kept, default=None)

        with self._log.held(chosen) as hold:
            yield None if hold is None else hold.epoch


def _epoch_at(plan: Node, clocks: QueryClocks, instant: int) -> int | None:
    """The epoch that knows the answer at an instant: the last one that ended then, or else the first one after.
    The oldest one that is kept knows what has not changed since its last slide."""
    epochs = list(clocks.by_epoch)
    ended = bisect_right(epochs, instant, key=clocks.at)
    if ended and clocks.at(epochs[ended - 1]) == instant:
        return epochs[ended - 1]
    is_known = ended > 0 or epochs[:1] == [0]
    if not is_known and epochs and (clock := clocks.at(epochs[0])) > BEGINNING:
        is_known = last_slide(plan, clock) <= instant
    return epochs[ended] if is_known and ended < len(epochs) else None
