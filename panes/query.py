"""A registered query, as its users hold it: invoke it, follow its changes, explain it, drop it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from panes.answers.answer import Answer
from panes.answers.answer_source import AnswerSource
from panes.answers.changes import Change
from panes.answers.follow_changes import follow_changes, follow_changes_async, seconds_of
from panes.answers.readers import Readers
from panes.errors import EvaluationError
from panes.language import Parameters
from panes.language import statements as st
from panes.language.names import quoted
from panes.reads import Reads
from panes.standing_answers import StandingAnswers

Where: TypeAlias = str | Mapping[str, Any]
"""A condition on the rows of an answer, or the values that some of their columns have."""


class Owner(Protocol):
    """What a query asks of the database that it is registered in."""

    _answers: StandingAnswers
    _reads: Reads

    def sql(
        self,
        text: str,
        parameters: Parameters | None = None,
        *,
        as_of: datetime | str | None = None,
        isolation: str | None = None,
    ) -> object: ...


class Query:
    """A registered query of a database."""

    def __init__(self, database: Owner, name: str, origin: int) -> None:
        """`origin` is the id under which it was first registered."""
        self._database = database
        self._name = name
        self._origin = origin

    @property
    def name(self) -> str:
        """Its name, also when it was renamed since; the last one that is known when it was dropped."""
        self._name = self._database._answers.name_of(self._origin) or self._name
        return self._name

    def invoke(
        self,
        as_of: datetime | str | None = None,
        *,
        where: Where | None = None,
        isolation: str | None = None,
    ) -> Answer:
        """The answer as of the last committed epoch, without a Spark job.

        Before the first epoch it has no rows and its `as_of` is None: `run` or `start` takes in rows.

        With `as_of`, a datetime or ISO text, the answer at that instant; in UTC unless it says otherwise. It goes
        back as far as epochs are kept (`retain_epochs`), and to the first epoch of the query.

        With `where`, the rows for which a condition is true: `"src = 7 AND bytes > 100"`, or values of columns,
        `{"src": 7}`. With INDEX BY, conditions on the columns of the index find them without reading all.

        `isolation` says which epoch counts: `'snapshot'` the last one when this is called, `'latest'` the last one
        when it returns, `'window'` also an earlier one, if that is at hand while others compute. By default it is
        what `SET isolation` says.
        """
        if where is None:
            return self._database._reads.invoke(self.name, as_of, isolation=isolation)
        text, values = _condition(where)
        sql = f"{st.Invoke(self.name).sql} WHERE {text}"
        found = self._database.sql(sql, values, as_of=as_of, isolation=isolation)
        assert isinstance(found, Answer)
        return found

    async def invoke_async(
        self,
        as_of: datetime | str | None = None,
        *,
        where: Where | None = None,
        isolation: str | None = None,
    ) -> Answer:
        """The same for asyncio: the answer is read in a thread."""
        return await asyncio.to_thread(self.invoke, as_of, where=where, isolation=isolation)

    def changes(
        self, reader: str = "default", *, restart: bool = False, timeout: float | None = 0
    ) -> Iterator[Change]:
        """What has changed in the answer, epoch by epoch, from where this reader left off.

        A change counts as read when the next one is asked for, or the end is reached. How far a reader has come is
        kept with the database: it goes on there after a restart, and after a crash with the change that it was
        working on. `restart=True` begins anew, with the whole answer as of the last epoch.

        By default it ends at the last epoch. With `timeout` it then waits up to that many seconds for the next
        change, every time anew; None waits without end. `stop` does not end the waiting, because `start` or `run`
        may follow. `close` ends it. Raises CatalogError when the query is dropped meanwhile, and QueryFailed when
        it fails.
        """
        self._source_to_follow()
        return follow_changes(
            self._readers,
            self._source_to_follow,
            self._fail,
            reader,
            restart=restart,
            timeout=seconds_of(timeout),
        )

    def changes_async(
        self, reader: str = "default", *, restart: bool = False, timeout: float | None = None
    ) -> AsyncGenerator[Change, None]:
        """The same for asyncio: `async for change in q.changes_async(): …`. It waits without end by default.

        No thread is taken while it waits. Cancelling the task that waits ends it; a change that was not handed
        out then comes again.
        """
        self._source_to_follow()
        return follow_changes_async(
            self._readers,
            self._source_to_follow,
            self._fail,
            reader,
            restart=restart,
            timeout=seconds_of(timeout),
        )

    def readers(self) -> Mapping[str, int]:
        """The readers of its changes, and the last epoch that each has read."""
        return self._readers.readers(self._source())

    def forget(self, reader: str) -> None:
        """Forgets where a reader is: should it come again, it begins anew."""
        self._readers.forget(self._source(), reader)

    def explain(self, *, analyze: bool = False) -> str:
        """The plan as it runs: every step with the pattern of its edge, and the state it keeps.

        With `analyze`, also what every step did: rows, state, CPU time and bytes, per epoch, averaged over recent
        epochs.
        """
        return str(self._database.sql(st.Explain(self.name, analyze=analyze).sql))

    def resume(self) -> None:
        """Lets a query that failed and is suspended begin anew with the next epoch, over what its streams keep."""
        self._database.sql(st.AlterQuery(self.name, "RESUME").sql)

    def drop(self) -> None:
        """Ends the query; its state is removed."""
        self._database.sql(st.Drop("QUERY", self.name).sql)

    @property
    def _readers(self) -> Readers:
        return self._database._answers.readers

    def _source(self) -> AnswerSource:
        return self._database._answers.source_of(self.name)

    def _source_to_follow(self) -> AnswerSource:
        return self._database._answers.source_to_follow(self.name)

    def _fail(self, error: EvaluationError) -> None:
        self._database._answers.suspend(self.name, error)

    def __repr__(self) -> str:
        return f"<Query {self.name}>"


def _condition(where: Where) -> tuple[str, list[Any] | None]:
    """A condition as text, and the values of its parameters."""
    if isinstance(where, str):
        return where, None
    if not where:
        return "TRUE", None
    says = {name: "IS NULL" if value is None else "= ?" for name, value in where.items()}
    parts = (f"{quoted(name)} {what}" for name, what in says.items())
    return " AND ".join(parts), [value for value in where.values() if value is not None] or None
