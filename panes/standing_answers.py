"""The answers of the registered queries of a database, by the name of the query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from panes.answer_sources import AnswerSources
from panes.answers.answer import Answer
from panes.answers.answer_source import AnswerSource
from panes.answers.current_answers import CurrentAnswers
from panes.answers.lookup import Lookup
from panes.catalog import QueryRecord
from panes.connection import Connection
from panes.errors import QueryFailed
from panes.language.statements import AlterQuery
from panes.onetime.one_time import OneTime
from panes.plan.expressions import Expression
from panes.plan.schema import Schema
from panes.registered import Registered


class StandingAnswers:
    """Reads the answer of a query where it is: in segments, or, while it has none of its own, in the history.

    A suspended query has no answer: asking for it raises QueryFailed.
    """

    def __init__(
        self,
        connection: Connection,
        registered: Registered,
        one_time: OneTime,
        check_run: Callable[[], None],
    ) -> None:
        """`check_run` raises what ended the background run, if something did."""
        self._connection = connection
        self._catalog = connection.catalog
        self._log = connection.log
        self._registered = registered
        self._one_time = one_time
        self._check_run = check_run
        self._names: dict[int, str | None] = {}
        """Names of queries that were asked for, so that the catalog is not asked again and again."""
        self._current = CurrentAnswers(lambda: self._log.last)
        self.readers = connection.readers
        self._sources = AnswerSources(connection.catalog, registered, connection.readers)

    def invoke(
        self, name: str, as_of: datetime | str | None = None, where: Expression | None = None
    ) -> Answer:
        """The answer as of the last committed epoch, or at an instant that is still kept; with a condition, the
        rows for which it is true."""
        self._check()
        if where is not None:
            return self._rows_where(name, as_of, where)
        if self._connection.is_read_only:
            # Queries may be dropped and made anew by another process: nothing is kept ready by name.
            return self._connection.read(lambda: self._computed(name, as_of))
        if as_of is not None:
            return self._current.computed(lambda: self._computed(name, as_of))
        return self._current.get(name, lambda: self._computed(name, None))

    def _rows_where(self, name: str, as_of: datetime | str | None, where: Expression) -> Answer:
        lookup = self.source_of(name).lookup_of(where) if self._has_index(name) else Lookup(where)
        if not lookup.is_narrow:
            return lookup.answer(self.invoke(name, as_of))
        if self._connection.is_read_only:
            return self._connection.read(lambda: self._computed(name, as_of, lookup))
        return self._current.computed(lambda: self._computed(name, as_of, lookup))

    def _has_index(self, name: str) -> bool:
        return bool(self._catalog.query(name).settings.index_by)

    def schema_of(self, name: str) -> Schema:
        """The columns of the answer of a query."""
        return self._registered.plan_of(self._running_query(name)).schema

    def source_of(self, name: str) -> AnswerSource:
        """Where the answer of a query is to be read."""
        self._check()
        return self._sources.of(self._running_query(name))

    def name_of(self, origin: int) -> str | None:
        """The name of a query now, by the id under which it was first registered; None when it was dropped."""
        if self._connection.is_closed:
            return self._names.get(origin)
        if self._connection.is_read_only:
            return self._catalog.name_of(origin)
        if origin not in self._names:
            self._names[origin] = self._catalog.name_of(origin)
        return self._names[origin]

    def forget(self) -> None:
        """Has all answers computed anew: to be called when queries change between epochs."""
        self._names.clear()
        self._current.forget()
        self._sources.forget()

    def keep_pace(self, is_kept: bool) -> None:
        """Whether readers leave room for epochs: to be switched on while epochs run."""
        self._current.keep_pace(is_kept)

    def _check(self) -> None:
        self._connection.check_open()
        self._check_run()

    def _computed(self, name: str, as_of: datetime | str | None, lookup: Lookup | None = None) -> Answer:
        record, latest = self._running_query(name), self._log.latest()
        plan = self._registered.plan_of(record)
        if record.answers.is_asked_anew:
            return self._one_time.answer(plan, as_of)
        source = self._sources.of(record)
        if as_of is None and latest is not None and self._sources.is_behind(source, latest):
            answer = self._one_time.answer(plan)
            return answer if lookup is None else lookup.answer(answer)
        return self.readers.invoke(source, as_of, lookup)

    def _running_query(self, name: str) -> QueryRecord:
        """A registered query that is not suspended."""
        record = self._catalog.query(name)
        if record.error is not None:
            raise QueryFailed(
                f"query {record.name!r} failed and is suspended: {record.error}; "
                f"{AlterQuery(record.name, 'RESUME').sql} lets it begin anew, and DROP QUERY ends it"
            )
        return record
