"""The database: statements in, standing queries kept up to date, answers out."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa
from rich.console import Console

from panes.answers.answer import Answer
from panes.answers.answer_source import AnswerSource
from panes.answers.current_answers import CurrentAnswers
from panes.catalog import QueryRecord
from panes.clock import Clock, WallClock
from panes.connection import Connection
from panes.errors import (
    CatalogError,
    QueryFailed,
    SourceError,
    SqlError,
)
from panes.ingest.bad_files import read_bad_files
from panes.ingest.push import Rows, push
from panes.ingest.rejected_rows import read_aside
from panes.language import bind, bind_stream, parse
from panes.language import statements as st
from panes.language.binder.names_read import names_read
from panes.language.names import why_no_name
from panes.language.positions import offset_of, refuse
from panes.onetime.one_time import OneTime
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize
from panes.plan.begin_end import is_begin_end
from panes.plan.explain import explain, explain_json
from panes.plan.nodes import Node, TableScan
from panes.plan.patterns import Pattern
from panes.plan.stream import Stream
from panes.plan.walk import walk
from panes.progress_bar import progress_bar
from panes.query import Query
from panes.registered import Registered
from panes.sharing.selection import selection_of
from panes.show import show
from panes.spark.backlog import files_left
from panes.spark.engine import Engine
from panes.spark.epoch import Workload
from panes.spark.sources import check_source
from panes.spark.uninterrupted import let_ctrl_c_end_waits
from panes.state.buffers.choose import kind_of_buffer
from panes.state.storage.epoch_log import EpochRecord
from panes.status import RECENT, Epoch, Status, epoch_of, status_of

if TYPE_CHECKING:
    from panes.spark.session import SparkSession

Result: TypeAlias = "Answer | pa.Table | str | None"

_READING = (st.SelectQuery, st.Invoke, st.Explain, st.Show)
"""The statements that change nothing."""


class Database:
    """A directory with a catalog, a checkpoint, states and answers. Made by `panes.connect`."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        state: str | Path | None = None,
        spark: SparkSession | None = None,
        clock: Clock | None = None,
        read_only: bool = False,
    ) -> None:
        let_ctrl_c_end_waits()
        self._connection = Connection(path, state, read_only=read_only)
        self.path = self._connection.path
        self._catalog = self._connection.catalog
        self._log = self._connection.log
        self._readers = self._connection.readers
        self._clock = clock or WallClock()
        self._answers = CurrentAnswers(lambda: self._log.last)
        self._engine = Engine(self.path, self._log, self._clock, spark)
        self._one_time = OneTime(self._log, self._engine.history, self._base_streams)
        self._registered = Registered(self._catalog, self._connection.states, self._engine.history)
        self._on_epoch: Callable[[Epoch], None] | None = None

    # Statements.

    def sql(self, text: str) -> Result:
        """Runs one or more statements separated by semicolons; gives what the last one gives.

        SELECT and INVOKE give an Answer, EXPLAIN text, SHOW a table, the others nothing.
        """
        self._connection.check_open()
        result: Result = None
        for statement in parse(text):
            result = self._execute(statement)
        return result

    def register(self, query: str, name: str | None = None) -> Query:
        """Registers a standing query; it sees the tuples of the epochs that begin from now on."""
        self._connection.check_writable()
        match parse(query):
            case [st.SelectQuery() as select]:
                if name is not None:
                    _check_name(name)
                statement = st.CreateQuery(self._free_name() if name is None else name, select)
            case [st.CreateQuery() as statement]:
                pass
            case _:
                raise SqlError("register takes one query: SELECT … FROM …", sql=query)
        self._create_query(statement)
        return Query(self, statement.name)

    def query(self, name: str) -> Query:
        """A query that is already registered."""
        self._connection.check_open()
        return Query(self, self._catalog.query(name).name)

    def queries(self) -> list[Query]:
        """All registered queries, in the order of registration."""
        self._connection.check_open()
        return [Query(self, record.name) for record in self._catalog.queries()]

    # Data.

    def run(
        self,
        on_epoch: Callable[[Epoch], None] | None = None,
        *,
        progress: Console | bool | None = None,
    ) -> None:
        """Takes in everything that the sources hold now, and returns.

        It ends with an epoch that moves the clock to the last tuple's time, whatever SLACK says. Rows of that time
        or an earlier one that come after it are late (`late_rows`).

        `on_epoch` is called with the `Epoch` after every commit, when its answers can be invoked, on a thread that
        is not the caller's; the next epoch waits for it. When it raises, the run ends and raises the same: the
        epoch stays committed, and the next run goes on after it. After a crash it may be called again for the last
        epoch.

        `progress` says whether a progress bar is shown on standard error, or where else; by default it is if that
        is a terminal.
        """
        self._check_stopped()
        with progress_bar(progress, self._files_left, self._clock) as show:
            try:
                self._start(_each(show, on_epoch), in_background=False)
                self._engine.wait()
                self._engine.catch_up()
            except BaseException:
                self._engine.stop(cut=True)
                raise
            finally:
                self._answers.keep_pace(False)

    async def run_async(
        self,
        on_epoch: Callable[[Epoch], None] | None = None,
        *,
        progress: Console | bool | None = None,
    ) -> None:
        """The same as `run` for asyncio, in a thread. Cancelled, it ends after the epoch that is under way."""
        is_cancelled = threading.Event()

        def tell(epoch: Epoch) -> None:
            if on_epoch is not None:
                on_epoch(epoch)
            if is_cancelled.is_set():
                raise _Cancelled

        running = asyncio.ensure_future(asyncio.to_thread(self.run, tell, progress=progress))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            is_cancelled.set()
            with suppress(_Cancelled):
                await asyncio.shield(running)
            raise

    def start(self, on_epoch: Callable[[Epoch], None] | None = None) -> None:
        """Takes in what the sources bring, in the background, until `stop`.

        `on_epoch` is called as by `run`. When it raises, the background run ends after that epoch, and `status`
        and `stop` raise the same.
        """
        self._check_stopped()
        self._start(on_epoch, in_background=True)

    def push(self, stream: str, rows: Rows) -> int:
        """Gives rows to a stream that was created without FROM; returns how many.

        They are safe when this returns, and the next epoch takes them in. `rows` is a table or record batches of
        Arrow, a frame of pandas or Polars, a row as a dictionary, columns as a dictionary of lists or arrays, or
        any number of rows: dictionaries, tuples in the order of the columns, named tuples or dataclasses. Missing
        values of pandas (NaN, NaT, NA) are NULL; an instant without a time zone is UTC.

        Raises SourceError, with the row (counted from 0) and the column, for a value that the declared type does
        not hold exactly, such as 2.7 in an integer or a text in a number; then nothing is stored.
        """
        self._connection.check_writable()
        return push(self.path / "pushed", self._base_stream(stream), rows)

    def late_rows(self, stream: str) -> pa.Table:
        """The rows that came later than SLACK allows: all were counted, and those not yet expired taken in."""
        return self._connection.read(lambda: self._aside(stream, "late"))

    def bad_rows(self, stream: str) -> pa.Table:
        """The rows that could not be used, with the reason in `_bad`."""
        return self._connection.read(lambda: self._aside(stream, "bad"))

    def _aside(self, name: str, kind: Literal["late", "bad"]) -> pa.Table:
        stream, latest = self._base_stream(name), self._log.latest()
        progress = None if latest is None else latest.streams.get(stream.number)
        counted = 0 if progress is None else progress.bad if kind == "bad" else progress.late
        return read_aside(self.path / "aside", stream, kind, counted)

    def bad_files(self, stream: str) -> pa.Table:
        """The files that could not be read and were set aside: `path`, `reason` and `epoch`."""
        latest = self._log.latest()
        last = -1 if latest is None else latest.epoch
        return read_bad_files(self.path / "aside", self._base_stream(stream), last)

    def stop(self) -> None:
        """Ends what `start` began, after the epoch that is under way. Nothing is lost.

        Ctrl-C does not wait for that epoch: the next run does it again.
        """
        # Also when the directory is gone: a background run must end.
        self._connection.check_not_closed()
        self._connection.check_not_read_only()
        try:
            self._engine.stop()
        finally:
            self._answers.keep_pace(False)

    def status(self) -> Status:
        """How things are: rows, rate, lag, clock, state, by stream and by query.

        Raises what ended the background run, if something did, until `stop`, `run` or `start`. For a connection
        that only reads, `is_running` says whether another one has the database open.
        """
        self._connection.check_open()
        self._engine.check()
        is_running = self._connection.is_in_use if self._connection.is_read_only else self._engine.is_running
        latest = self._log.latest()
        return status_of(
            self._log.recent(RECENT),
            self._registered.names(),
            {stream.number: stream.name for stream in self._catalog.base_streams()},
            {query.name: query.error for query in self._catalog.queries() if query.error is not None},
            self._clock.now_us(),
            is_running=is_running,
            incomplete={} if latest is None else self._registered.incomplete(latest),
        )

    def close(self) -> None:
        """Stops, and lets go of the directory; a temporary one is removed. The Spark session stays."""
        if self._connection.is_closed:
            return
        try:
            self._engine.close()
        finally:
            self._connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Database {self.path}{' (closed)' if self._connection.is_closed else ''}>"

    # What statements do.

    def _execute(self, statement: st.Statement) -> Result:
        if not isinstance(statement, _READING):
            self._connection.check_writable()
        match statement:
            case st.CreateStream():
                check_source(statement.stream)
                self._change_streams(lambda: self._catalog.create(statement))
            case st.CreateDerivedStream():
                bind_stream(statement, self._catalog)
                self._catalog.create(statement)
            case st.CreateTable():
                self._catalog.create(statement)
            case st.CreateQuery():
                self._create_query(statement)
            case st.AlterQuery():
                self._registered.resume(statement.name)
                self._answers.forget()
            case st.Invoke():
                return self._invoke(statement.name)
            case st.Explain():
                return self._explain(statement)
            case st.Show():
                return show(statement, self._catalog)
            case st.Drop():
                self._drop(statement)
            case st.SetSetting():
                self._catalog.set(statement.name, statement.value)
            case st.SelectQuery():
                return self._select(statement)
            case st.InsertInto() | st.UpdateTable() | st.DeleteFrom():
                refuse(
                    "tables cannot hold rows yet",
                    statement.text,
                    offset_of(statement.tree),
                    hint="a table can be created, and EXPLAIN shows how queries over it would run",
                )
        return None

    def _select(self, query: st.SelectQuery) -> Answer:
        """A query that is asked once."""
        return self._connection.read(lambda: self._select_now(query))

    def _select_now(self, query: st.SelectQuery) -> Answer:
        plan = self._plan(query)
        _check_runnable(plan, query)
        why_not = self._one_time.why_not(plan)
        if why_not is not None:
            refuse(why_not.reason, query.text, offset_of(query.tree), hint=why_not.hint)
        return self._one_time.answer(plan)

    def _create_query(self, statement: st.CreateQuery) -> None:
        plan = self._plan(statement.query)
        _check_runnable(plan, statement.query)
        strategy = str(self._catalog.setting("strategy"))
        partitions = int(self._catalog.setting("partitions"))
        if not is_begin_end(plan) and selection_of(plan) is None:
            # A strategy that cannot run the plan refuses it here, not in the next epoch. All can run selections.
            lower(plan, strategy=strategy, partitions=partitions)
        self._registered.add(statement, plan)

    def _invoke(self, name: str, as_of: datetime | str | None = None) -> Answer:
        self._connection.check_open()
        self._engine.check()
        if self._connection.is_read_only:
            # Queries may be dropped and made anew by another process: nothing is kept ready by name.
            return self._connection.read(lambda: self._computed(name, as_of))
        if as_of is not None:
            return self._answers.computed(lambda: self._computed(name, as_of))
        return self._answers.get(name, lambda: self._computed(name, None))

    def _computed(self, name: str, as_of: datetime | str | None) -> Answer:
        record, latest = self._running_query(name), self._log.latest()
        plan = self._registered.plan_of(record)
        if is_begin_end(plan) and record.group is None:
            return self._one_time.answer(plan, as_of)
        standing = self._registered.standing(record, self._readers)
        if as_of is None and latest is not None and self._registered.is_ahead_of(standing, latest):
            return self._one_time.answer(plan)
        return self._readers.invoke(standing, as_of)

    def _standing(self, name: str) -> AnswerSource:
        """Where the answer of a query is to be read."""
        self._connection.check_open()
        self._engine.check()
        return self._registered.standing(self._running_query(name), self._readers)

    def _running_query(self, name: str) -> QueryRecord:
        """A registered query that is not suspended."""
        record = self._catalog.query(name)
        if record.error is not None:
            raise QueryFailed(
                f"query {record.name!r} failed and is suspended: {record.error}; "
                f"{st.AlterQuery(record.name, 'RESUME').sql} lets it begin anew, and DROP QUERY ends it"
            )
        return record

    def _explain(self, statement: st.Explain) -> str:
        target = statement.target
        if isinstance(target, str):
            record = self._catalog.query(target)
            plan, strategy = self._registered.plan_of(record), record.strategy
        else:
            plan, strategy = self._plan(target), str(self._catalog.setting("strategy"))

        def choose(pattern: Pattern) -> str:
            return kind_of_buffer(pattern, strategy)

        if statement.format == "JSON":
            return json.dumps(explain_json(plan, choose), indent=2)
        return explain(plan, choose)

    def _drop(self, statement: st.Drop) -> None:
        if statement.if_exists and not self._catalog.has(statement.kind, statement.name):
            return
        if statement.kind == "QUERY":
            dropped_query = self._registered.drop(statement.name)
            self._answers.forget()
            self._readers.forget_query(dropped_query)
            return
        self._check_unused(statement.name)
        dropped = self._catalog.stream(statement.name)
        self._change_streams(lambda: self._catalog.drop(statement.kind, statement.name))
        if isinstance(dropped, st.CreateStream):
            self._engine.forget(dropped.stream)

    def _check_unused(self, name: str) -> None:
        """Nothing may be dropped while a query or a derived stream reads it."""
        readers = [
            (f"stream {stream.name!r}", stream.query)
            for stream in self._catalog.streams()
            if isinstance(stream, st.CreateDerivedStream)
        ]
        readers += [(f"query {q.name!r}", _parse_query(q.sql)) for q in self._catalog.queries()]
        for reader, query in readers:
            if name.casefold() in names_read(query):
                raise CatalogError(f"{name!r} is read by {reader}; drop that first")

    def _change_streams(self, change: Callable[[], None]) -> None:
        """Changes the set of streams; a background run goes on with the new set, over the same checkpoint."""
        was_running = self._engine.is_running
        if was_running:
            self._engine.stop()
        try:
            change()
        finally:
            if was_running:
                self._start(self._on_epoch, in_background=True)

    # Plans and epochs.

    def _plan(self, query: st.SelectQuery) -> Node:
        return optimize(bind(query, self._catalog))

    def _base_streams(self) -> dict[str, Stream]:
        return {stream.name: stream for stream in self._catalog.base_streams()}

    def _base_stream(self, name: str) -> Stream:
        self._connection.check_open()
        found = self._catalog.stream(name)
        if not isinstance(found, st.CreateStream):
            known = ", ".join(stream.name for stream in self._catalog.base_streams()) or "none yet"
            raise CatalogError(f"there is no base stream named {name!r}; there are {known}")
        return found.stream

    def _start(self, on_epoch: Callable[[Epoch], None] | None, *, in_background: bool) -> None:
        streams = self._catalog.base_streams()
        if not streams:
            raise SourceError("there is no stream to run: CREATE STREAM … comes first")
        self._on_epoch = on_epoch

        def after_commit(record: EpochRecord) -> None:
            if on_epoch is not None:
                on_epoch(epoch_of(record))

        heartbeat = float(self._catalog.setting("heartbeat")) if in_background else None
        epoch_bytes = int(float(self._catalog.setting("epoch_megabytes")) * 1_000_000)
        self._engine.start(
            streams,
            self._workload,
            after_commit,
            suspend=self._registered.suspend,
            heartbeat_s=heartbeat,
            epoch_bytes=epoch_bytes,
        )
        self._answers.keep_pace(True)

    def _workload(self, before: EpochRecord) -> Workload:
        """What to do in the epoch that follows."""
        self._connection.check_open()
        return self._registered.workload(before)

    def _files_left(self) -> int | None:
        return files_left(self.path, self._catalog.base_streams())

    def _free_name(self) -> str:
        numbers = count(self._catalog.next_query_number())
        return next(name for number in numbers if not self._catalog.is_query(name := f"query_{number}"))

    def _check_stopped(self) -> None:
        self._connection.check_writable()
        if self._engine.is_running:
            raise CatalogError("the database is running in the background; stop() it first")


class _Cancelled(Exception):
    """Ends a run after an epoch, because the task that waits for it was cancelled."""


def _check_runnable(plan: Node, query: st.SelectQuery) -> None:
    """Refuses what can be written and explained, but not run yet."""
    for node in walk(plan):
        if isinstance(node, TableScan):
            refuse(
                f"{node.table} is a table, and tables cannot hold rows yet",
                query.text,
                offset_of(query.tree),
                hint="EXPLAIN shows how the query would run",
            )


def _check_name(name: object) -> None:
    problem = why_no_name(name) if isinstance(name, str) else f"it is of type {type(name).__name__}"
    if problem is not None:
        raise CatalogError(f"{name!r:.80} cannot be the name of a query: {problem}")


def _each(*listeners: Callable[[Epoch], None] | None) -> Callable[[Epoch], None]:
    """Tells all listeners that there are."""

    def tell(epoch: Epoch) -> None:
        for listener in listeners:
            if listener is not None:
                listener(epoch)

    return tell


def _parse_query(sql: str) -> st.SelectQuery:
    (statement,) = parse(sql)
    assert isinstance(statement, st.SelectQuery), sql
    return statement
