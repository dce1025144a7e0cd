"""The answers of the registered queries of a database, by the name of the query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial

import duckdb

from panes.answer_sources import AnswerSources
from panes.answer_switching import AnswerSwitching
from panes.answers.answer import Answer
from panes.answers.answer_source import AnswerSource
from panes.answers.current_answers import CurrentAnswers
from panes.answers.key_lookup import KeyLookup
from panes.catalog import QueryRecord
from panes.config import LATEST, SNAPSHOT, WINDOW
from panes.connection import Connection
from panes.errors import EpochGone, EvaluationError, QueryBegunAnew, QueryFailed
from panes.language.statements import AlterQuery
from panes.onetime.one_time import OneTime
from panes.onetime.run_sql import leave_cores
from panes.plan.expressions import Expression
from panes.plan.nodes import Node
from panes.plan.schema import Schema
from panes.registered import Registered
from panes.state.storage.epoch_log import BEFORE_ALL

_SHARED_RUNS = 5
"""How many times a reader under `latest` is given an answer that others have, too, before it asks alone."""


class StandingAnswers:
    """Reads the answer of a query where it is: in segments, or, while it has none of its own, in the history.

    A suspended query has no answer: asking for it raises QueryFailed. A query is suspended also when a part of its
    answer that is computed by its readers cannot be.
    """

    def __init__(
        self,
        connection: Connection,
        registered: Registered,
        one_time: OneTime,
        switching: AnswerSwitching,
        check_run: Callable[[], None],
    ) -> None:
        """`check_run` raises what ended the background run, if something did."""
        self._connection = connection
        self._catalog = connection.catalog
        self._log = connection.log
        self._registered = registered
        self._one_time = one_time
        self._switching = switching
        self._check_run = check_run
        self._names: dict[int, str | None] = {}
        """Names of queries that were asked for, so that the catalog is not asked again and again."""
        self.current = CurrentAnswers(lambda: self._log.last, self._log.gate.wait)
        """What is kept ready, and the limits of what readers compute."""
        self.readers = connection.readers
        self.sources = AnswerSources(connection.catalog, registered, connection.readers)

    @property
    def is_read_only(self) -> bool:
        return self._connection.is_read_only

    @property
    def last_epoch(self) -> int:
        """The last committed epoch; -1 before the first."""
        return self._log.last

    def invoke(
        self,
        name: str,
        as_of: datetime | str | None = None,
        where: Expression | None = None,
        *,
        isolation: str = SNAPSHOT,
        epoch: int | None = None,
    ) -> Answer:
        """The answer as of the last committed epoch, or at an instant that is still kept; with a condition, the
        rows for which it is true.

        The isolation level says which epoch counts as the last: that of the start, under `latest` that of the end,
        under `window` an earlier one where others are computing. With `epoch`, which the caller holds, the answer
        is as of that one.
        """
        self.check()
        try:
            if where is not None:
                return self._rows_where(name, as_of, where, isolation, epoch)
            return self._whole(name, as_of, isolation, epoch)
        except EvaluationError as error:
            if as_of is None and epoch in (None, self._log.last):
                self.suspend(name, error)
            raise

    def suspend(self, name: str, error: EvaluationError) -> None:
        """Suspends a query whose answer or changes cannot be computed from what is kept for it, as an epoch
        suspends those that it cannot keep up to date; raises QueryFailed.

        Returns without that when the values are not at fault (memory or a disk is full), or when this connection
        only reads.
        """
        if self.is_read_only or isinstance(error.__cause__, duckdb.OperationalError):
            return
        self._registered.suspend_query(self._running_query(name), str(error))
        self.forget(name)
        self._running_query(name)

    def _whole(self, name: str, as_of: datetime | str | None, isolation: str, epoch: int | None) -> Answer:
        """All rows of an answer."""
        if self._connection.is_read_only:
            return self._until_last(name, as_of, None, isolation, epoch)
        if as_of is not None or epoch not in (None, self._log.last):
            key = None if as_of is not None else (name.lower(), epoch)
            return self.current.computed(lambda: self._computed(name, as_of, epoch), key)
        if isolation == LATEST and epoch is None:
            return self._as_of_the_end(name)
        answer = self.current.get(
            name.lower(),
            lambda last: self._computed(name, None, last),
            may_wait=isolation != WINDOW or epoch is not None,
        )
        if epoch is not None and _epoch_of(answer) != epoch:
            return self.invoke(name, epoch=epoch)  # another epoch was committed just now
        return answer

    def _until_last(
        self,
        name: str,
        as_of: datetime | str | None,
        lookup: KeyLookup | None,
        isolation: str,
        epoch: int | None,
    ) -> Answer:
        """An answer that is not kept ready: what a lookup finds, and all of them where another process runs the
        epochs, because queries may be dropped and made anew by it. Under `latest` it is computed until no epoch
        overtakes it."""
        while True:
            answer = self.current.computed(
                lambda: self._connection.read(lambda: self._computed(name, as_of, epoch, lookup))
            )
            if isolation != LATEST or as_of is not None or epoch is not None or self._is_last(answer):
                return answer

    def _as_of_the_end(self, name: str) -> Answer:
        """The answer of the epoch that is the last one when this returns: one that was overtaken meanwhile is
        brought forward."""
        key = name.lower()
        ready = self.current.ready(key)
        if ready is not None and self._is_last(ready):
            return ready
        answer = self.current.get(key, lambda last: self._computed(name, None, last))
        while not self._is_last(answer):
            once = self._asked_once(name)
            if once is not None:
                return self.latest_once(once)
            answer = self.current.get(key, partial(self._caught_up, name, answer))
        return answer

    def latest_once(self, plan: Node) -> Answer:
        """The answer of a query that is asked of the history, as of the epoch that is the last one when this
        returns. Raises WindowMoved when epochs overtake it again and again."""
        ask, step = self._one_time.answer, self.current.step
        for _ in range(_SHARED_RUNS):
            # Readers that come together are given one answer, which an epoch may overtake before all have it.
            answer = self.current.once(("latest", plan), lambda _: ask(plan, isolation=LATEST, step=step))
            if self._is_last(answer):
                return answer
        return self.current.once(None, lambda _: ask(plan, isolation=LATEST, step=step))

    def _is_last(self, answer: Answer) -> bool:
        return self._log.last == _epoch_of(answer)

    def _rows_where(
        self, name: str, as_of: datetime | str | None, where: Expression, isolation: str, epoch: int | None
    ) -> Answer:
        lookup = self.source_of(name).lookup_of(where) if self._has_index(name) else KeyLookup(where)
        if not lookup.is_narrow:
            return lookup.answer(self.invoke(name, as_of, isolation=isolation, epoch=epoch))
        return self._until_last(name, as_of, lookup, isolation, epoch)

    def _has_index(self, name: str) -> bool:
        return bool(self._catalog.query(name).settings.index_by)

    def schema_of(self, name: str) -> Schema:
        """The columns of the answer of a query."""
        return self._registered.plan_of(self._running_query(name)).schema

    def source_of(self, name: str) -> AnswerSource:
        """Where the answer of a query is to be read."""
        self.check()
        return self.sources.of(self._running_query(name))

    def source_to_follow(self, name: str) -> AnswerSource:
        """The same for somebody who follows changes: a query of which nothing is kept, because that was cheaper,
        is kept up to date from the next epoch on."""
        self.check()
        record = self._running_query(name)
        return self.sources.of(record if self.is_read_only else self._switching.keep_for_followers(record))

    def name_of(self, origin: int) -> str | None:
        """The name of a query now, by the id under which it was first registered; None when it was dropped."""
        if self._connection.is_closed:
            return self._names.get(origin)
        if self._connection.is_read_only:
            return self._catalog.name_of(origin)
        if origin not in self._names:
            self._names[origin] = self._catalog.name_of(origin)
        return self._names[origin]

    def forget(self, *names: str) -> None:
        """Has the answers of some queries computed again: to be called when they change between epochs. Those of
        other queries stay."""
        self._names.clear()
        self.current.forget(*(name.lower() for name in names))
        self.sources.forget()

    def forget_all(self) -> None:
        """Has all answers computed again: to be called when a stream or a table is dropped."""
        self._names.clear()
        self.current.forget_all()
        self.sources.forget()

    def keep_pace(self, is_kept: bool) -> None:
        """Whether readers leave room for epochs: to be switched on while epochs run."""
        self.current.keep_pace(is_kept)
        leave_cores(is_kept)

    def check(self) -> None:
        """Raises unless answers can be read: when the database is closed, or its background run has failed."""
        self._connection.check_open()
        self._check_run()

    def _computed(
        self,
        name: str,
        as_of: datetime | str | None,
        epoch: int | None = None,
        lookup: KeyLookup | None = None,
    ) -> Answer:
        """The answer as of an epoch that is kept, or the last one, or at an instant; with a lookup, what it finds
        of it."""
        record = self._running_query(name)
        plan = self._registered.plan_of(record)
        if record.answers.is_asked_anew:
            return self._one_time.answer(plan, as_of, epoch=epoch)
        source = self.sources.of(record)
        if as_of is None and self._is_behind(source, epoch):
            answer = self._one_time.answer(plan, epoch=epoch)
            return answer if lookup is None else lookup.answer(answer)
        try:
            return self.readers.invoke(source, as_of, lookup, epoch=epoch)
        except QueryBegunAnew:
            now = self._running_query(name)
            if now.id == record.id or not now.answers.is_switched:
                raise
            return self._computed(name, as_of, epoch, lookup)  # it was switched to another way just now
        except EpochGone:
            if as_of is None or not record.answers.is_switched:
                raise
            # The way that it had before is gone with what was kept for it.
            answer = self._one_time.answer(plan, as_of)
            return answer if lookup is None else lookup.answer(answer)

    def _is_behind(self, source: AnswerSource, epoch: int | None) -> bool:
        """Whether a query has no answer of its own as of an epoch, but the history has."""
        latest = (
            self._log.latest() if epoch is None or epoch not in self._log.epochs else self._log.record(epoch)
        )
        return epoch == BEFORE_ALL or (latest is not None and self.sources.is_behind(source, latest))

    def _asked_once(self, name: str) -> Node | None:
        """The plan of a query that is answered from the history; None of one that has an answer of its own."""
        record = self._running_query(name)
        plan = self._registered.plan_of(record)
        if record.answers.is_asked_anew:
            return plan
        return plan if self._is_behind(self.sources.of(record), None) else None

    def _caught_up(self, name: str, earlier: Answer, epoch: int) -> Answer:
        """The answer as of an epoch, from that of an earlier one."""
        source = self.sources.of(self._running_query(name))
        if self._is_behind(source, earlier.epoch):
            return self._computed(name, None, epoch)
        return self.readers.caught_up(source, earlier, epoch)

    def _running_query(self, name: str) -> QueryRecord:
        """A registered query that is not suspended."""
        record = self._catalog.query(name)
        if record.error is not None:
            raise QueryFailed(
                f"query {record.name!r} failed and is suspended: {record.error}; "
                f"{AlterQuery(record.name, 'RESUME').sql} lets it begin anew, and DROP QUERY ends it"
            )
        return record


def _epoch_of(answer: Answer) -> int:
    """The epoch that an answer is of, also before the first one."""
    return BEFORE_ALL if answer.epoch is None else answer.epoch
