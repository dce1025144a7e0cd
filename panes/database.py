"""The database: statements in, standing queries kept up to date, answers out.

The façade of Panes: it makes the parts of an open database and hands each call to the one that knows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pyarrow as pa
from rich.console import Console

from panes.answer_switching import AnswerSwitching
from panes.answered_from import AnsweredFrom
from panes.answers.invocations import Invocations
from panes.answers.measured_reads import MeasuredReads
from panes.catalog import QueryRecord
from panes.clock import Clock, WallClock
from panes.config import LATEST
from panes.connection import Connection
from panes.current_statistics import CurrentStatistics
from panes.errors import CatalogError, PanesWarning, SqlError, WindowMoved
from panes.ingest.push import Rows, push
from panes.ingest.rejected_log import RejectedLog
from panes.invocation_rates import InvocationRates
from panes.language import Parameters, parse
from panes.language.statements import CreateStream
from panes.onetime.one_time import OneTime
from panes.optimizer.cost import plan_cost
from panes.optimizer.shedding.effective_cost import effective_cost
from panes.plan.stream import Stream
from panes.query import Query
from panes.read_block import ReadBlock, read_block
from panes.reads import Reads
from panes.refreshing import Refreshing
from panes.registered import Registered
from panes.replanning import Replanning
from panes.run_report import RunReport
from panes.running_queries import RunningQueries
from panes.runs import Runs
from panes.runtime.engine import Engine
from panes.runtime.epoch_stores import EpochStores
from panes.runtime.uninterrupted import let_ctrl_c_end_waits
from panes.shedding import Shedding
from panes.stages.measure_log import PIN
from panes.stages.physical_plan import PhysicalPlan
from panes.standing_answers import StandingAnswers
from panes.statements.context import Context
from panes.statements.create_function import aggregate_statement, function_statement
from panes.statements.create_query import create_query_from
from panes.statements.handlers import AS_OF, Result, execute, execute_all
from panes.statements.load_table import load_table
from panes.status import RECENT, Epoch, Status, status_of
from panes.synopsis_answers import SynopsisAnswers
from panes.tables.load_rows import LoadConflict
from panes.tables.row_counts import RowCounts

if TYPE_CHECKING:
    from panes.spark.session import SparkSession

T = TypeVar("T")
MakeEngine = Callable[[EpochStores, Clock], Engine]


def _spark_engine(session: SparkSession | None) -> MakeEngine:
    """Makes the engine of a database that runs on Spark: in a session, or in one that is started when needed."""
    from panes.spark.spark_engine import SparkEngine

    return partial(SparkEngine, session=session)


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
        engine: MakeEngine | None = None,
    ) -> None:
        let_ctrl_c_end_waits()
        self._connection = Connection(path, state, read_only=read_only)
        self.path = self._connection.path
        self._catalog = self._connection.catalog
        self._log = self._connection.log
        self._clock = clock or WallClock()
        home = self._connection.home.location
        make = engine or _spark_engine(spark)
        stores = EpochStores(
            self.path,
            home,
            self._log,
            self._connection.checkpoint_copy,
            self._connection.tables,
            is_read_only=read_only,
        )
        self._engine: Engine = make(stores, self._clock)
        self._rejected_log = RejectedLog(home / "aside")
        self._statistics = CurrentStatistics(self._connection, self._engine.stores)
        self._registered = Registered(
            self._catalog,
            lambda name: self._connection.tables.contents(name).row_count,
            self._statistics,
            self._clock,
            self._connection.readers.is_followed,
        )
        history = self._engine.stores.history
        replanning = Replanning(self._catalog, self._registered, history, self._cost_of, self._clock)
        self._refreshing = Refreshing(self._catalog, self._registered)
        switching = AnswerSwitching(self._catalog, self._registered, replanning, self._statistics)
        self._running = RunningQueries(
            self._catalog,
            history,
            self._registered,
            replanning,
            self._refreshing,
            switching,
            self._connection.readers.segments,
        )
        one_time = OneTime(
            self._log, self._engine.stores.history, self._base_streams, self._connection.tables
        )
        self._answers = StandingAnswers(
            self._connection, self._registered, one_time, switching, self._engine.check
        )
        switching.waited_seconds = self._answers.current.waited_seconds
        self._shedding = Shedding(self._catalog, self._registered, self._running, self._statistics)
        self._runs = Runs(
            self._connection,
            self._engine,
            self._registered,
            self._running,
            self._shedding,
            self._refreshing,
            self._answers,
            self._clock,
        )
        invocations = Invocations()
        rates = InvocationRates(self._catalog, self._registered, invocations)
        self._engine.stores.epoch_facts.invoked = rates.observed
        self._reads = Reads(
            self._catalog,
            self._answers,
            one_time,
            AnsweredFrom(self._catalog, self._registered, self._answers.sources, one_time, self._log),
            SynopsisAnswers(self._catalog, self._registered, self._answers.readers, one_time, self._log),
            MeasuredReads(self._clock),
            invocations,
        )
        self._context = Context(
            self._connection,
            self._engine,
            self._registered,
            replanning,
            self._refreshing,
            one_time,
            self._answers,
            self._runs,
            self._statistics,
            self._reads,
        )

    def _cost_of(self, plan: PhysicalPlan) -> float:
        """What a plan is expected to cost, in CPU seconds per second of event time, once it sheds what does not
        fit."""
        statistics = self._statistics()
        return effective_cost(plan, plan_cost(plan, statistics), statistics, self._catalog.marks.cores)

    # Statements.

    def sql(
        self,
        text: str,
        parameters: Parameters | None = None,
        *,
        as_of: datetime | str | None = None,
        isolation: str | None = None,
    ) -> Result:
        """Runs one or more statements separated by semicolons; gives what the last one gives.

        `parameters` are the values of `?` in the text, as a list, or those of `:name`, as a dictionary. Each
        stands for a constant.

        SELECT and INVOKE give an Answer, EXPLAIN text, SHOW a table, INSERT, UPDATE, DELETE and COPY how many rows
        they inserted, updated and deleted (`RowCounts`), the others nothing.

        Statements that change tables and stand together are one transaction: they take effect together or, when
        one of them fails, not at all. They are durable when this returns.

        With `as_of`, answers are those of that instant, as far as it is kept: windows and tables as they were.
        `isolation` says which epoch answers are of, as for `Query.invoke`.
        """
        self._connection.check_open()
        statements = parse(text, parameters)
        is_reading = all(type(statement) in AS_OF for statement in statements)
        for given, word in ((as_of, "as_of="), (isolation, "isolation=")):
            if given is not None and not is_reading:
                raise SqlError(
                    f"{word} is for SELECT and INVOKE; leave it out for other statements", sql=text
                )
        level = None if isolation is None else self._reads.level(isolation)
        return execute_all(statements, replace(self._context, as_of=as_of, isolation=level))

    def read(self, isolation: str | None = None) -> AbstractContextManager[ReadBlock]:
        """Several reads as one: `with db.read() as r: r.invoke("a"); r.sql("SELECT …")`.

        All of them are of one epoch, the last one when the block begins, each as of its own clock. The epoch is
        held until the block ends. Under `'latest'` the block raises WindowMoved at its end when an epoch was
        committed meanwhile: `read_again` runs such reads until they are not overtaken.
        """
        return read_block(self._context, isolation)

    def read_again(
        self, function: Callable[[ReadBlock], T], *, isolation: str | None = LATEST, retries: int = 10
    ) -> T:
        """What a function gives that reads in a block: `db.read_again(lambda r: (r.invoke("a"), r.invoke("b")))`.

        It is called again when an epoch was committed before it was done, up to `retries` times: then WindowMoved
        is raised. So it should do nothing but read.
        """
        for _ in range(retries):
            with suppress(WindowMoved), self.read(isolation) as block:
                return function(block)
        with self.read(isolation) as block:
            return function(block)

    def register(
        self,
        query: str,
        name: str | None = None,
        *,
        parameters: Parameters | None = None,
        replace: bool = False,
    ) -> Query:
        """Registers a standing query; it sees the tuples of the epochs that begin from now on.

        `parameters` are those of `sql`; the query keeps them as constants. With `replace`, a query of that name
        gets the new text, as by `CREATE OR REPLACE QUERY`.
        """
        self._connection.check_writable()
        statement = create_query_from(query, name, self._catalog, parameters, replace=replace)
        execute(statement, self._context)
        return self._query(self._catalog.query(statement.name))

    def create_function(
        self,
        name: str,
        function: Callable[..., Any] | str,
        *,
        returns: str | None = None,
        takes: Sequence[str] | None = None,
        vectorized: bool | None = None,
        null_in: bool = False,
    ) -> None:
        """Makes a Python function one of the language, under a name.

        It is kept by its import path (`module:name`, which may be given in its place), so that tasks, restarts and
        connections that only read find it; a lambda, or one of the script that runs, is refused. `takes` and
        `returns` are types of SQL; without them, the annotations of the function tell. It must give the same
        result for the same values whenever it is called.

        With `vectorized` it is called with arrays of Arrow and gives one of the same length; that is the default
        where its annotations name one. Else it is called for every row, which is slow. For rows with a NULL among
        its arguments the result is NULL, unless `null_in` says that it wants them.
        """
        self._connection.check_writable()
        made = function_statement(name, function, returns, takes, vectorized=vectorized, null_in=null_in)
        execute(made, self._context)

    def create_aggregate(
        self, name: str, aggregate: type | str, *, returns: str, takes: Sequence[str]
    ) -> None:
        """Makes a Python class an aggregate of the language, under a name.

        The class has the methods `zero()`, `add(state, value)` and `result(state)`, and is kept by its import
        path. The values that a group holds are kept, and when the group changes they are added up anew, in their
        order: the result must depend on nothing but the values. NULLs are not added.
        """
        self._connection.check_writable()
        execute(aggregate_statement(name, aggregate, returns, takes), self._context)

    def query(self, name: str) -> Query:
        """A query that is already registered."""
        self._connection.check_open()
        return self._query(self._catalog.query(name))

    def queries(self) -> list[Query]:
        """All registered queries, in the order of registration."""
        self._connection.check_open()
        return [self._query(record) for record in self._catalog.queries()]

    def _query(self, record: QueryRecord) -> Query:
        return Query(self, record.name, record.origin)

    # Data.

    def run(
        self,
        on_epoch: Callable[[Epoch], None] | None = None,
        *,
        progress: Console | bool | None = None,
    ) -> RunReport:
        """Takes in everything that the sources hold now, and returns what came and what was left out.

        Where rows came late or were rejected, files could not be read, or queries failed, it says so by one
        PanesWarning.

        It ends with an epoch that moves the clock to the last tuple's time, whatever SLACK says. Rows of that time
        or an earlier one that come after it are late (`late_rows`).

        `on_epoch` is called with the `Epoch` after every commit, when its answers can be invoked, on a thread that
        is not the caller's; the next epoch waits for it. When it raises, the run ends and raises the same: the
        epoch stays committed, and the next run goes on after it. After a crash it may be called again for the last
        epoch.

        `progress` says whether a progress bar is shown on standard error, or where else; by default it is if that
        is a terminal.
        """
        report = self._runs.run(on_epoch, progress)
        if not report.is_complete:
            warnings.warn(report.problem, PanesWarning, stacklevel=2)
        return report

    async def run_async(
        self,
        on_epoch: Callable[[Epoch], None] | None = None,
        *,
        progress: Console | bool | None = None,
    ) -> RunReport:
        """The same as `run` for asyncio, in a thread. Cancelled, it ends after the epoch that is under way."""
        report = await self._runs.run_async(on_epoch, progress)
        if not report.is_complete:
            warnings.warn(report.problem, PanesWarning, stacklevel=2)
        return report

    def start(self, on_epoch: Callable[[Epoch], None] | None = None) -> None:
        """Takes in what the sources bring, in the background, until `stop`.

        `on_epoch` is called as by `run`. When it raises, the background run ends after that epoch, and `status`
        and `stop` raise the same.
        """
        self._runs.start(on_epoch)

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
        return push(self._engine.stores.pushed, self._base_stream(stream), rows)

    def load(
        self,
        table: str,
        rows: Rows,
        *,
        replace: bool = False,
        on_conflict: LoadConflict = "error",
        progress: Console | bool | None = None,
    ) -> RowCounts:
        """Loads rows into a table; returns how many were inserted, updated and deleted.

        The rows are given as to `push`. They are one transaction, and durable when this returns. With `replace`
        the table holds exactly these rows afterwards, and only those that differ from what it held are changes.
        `on_conflict` says what becomes of a row whose primary key is in the table: 'error' loads nothing, 'update'
        puts the row in the place of the one that is there, 'ignore' leaves it out. While many rows are loaded,
        progress is shown as by `run`.

        Raises ConstraintError, with the row (counted from 0) and the column, for a value that the declared type
        does not hold exactly, for NULL where it cannot be, and for a primary key that is there; then nothing has
        changed.
        """
        return load_table(
            table, rows, self._context, replace=replace, on_conflict=on_conflict, progress=progress
        )

    def late_rows(self, stream: str) -> pa.Table:
        """The rows that came later than SLACK allows: all were counted, and those not yet expired taken in."""
        return self._connection.read(lambda: self._rejected(stream, "late"))

    def bad_rows(self, stream: str) -> pa.Table:
        """The rows that could not be used, with the reason in `_bad`."""
        return self._connection.read(lambda: self._rejected(stream, "bad"))

    def _rejected(self, name: str, kind: Literal["late", "bad"]) -> pa.Table:
        stream, latest = self._base_stream(name), self._log.latest()
        return self._rejected_log.rows(stream, kind, {} if latest is None else latest.pins)

    def bad_files(self, stream: str) -> pa.Table:
        """The files that could not be read: `path`, `reason` and `epoch`."""
        found, latest = self._base_stream(stream), self._log.latest()
        return self._rejected_log.bad_files(found, {} if latest is None else latest.pins)

    def stop(self) -> None:
        """Ends what `start` began, after the epoch that is under way. Nothing is lost.

        Ctrl-C does not wait for that epoch: the next run does it again.
        """
        self._runs.stop()

    def status(self) -> Status:
        """How things are: rows, rate, lag, clock, state, by stream and by query.

        Raises what ended the background run, if something did, until `stop`, `run` or `start`. For a connection
        that only reads, `is_running` says whether another one has the database open.
        """
        self._connection.check_open()
        self._engine.check()
        is_running = self._connection.is_in_use if self._connection.is_read_only else self._engine.is_running
        recent = self._log.recent(RECENT)
        return status_of(
            recent,
            self._registered.names(),
            self._registered.names_of_plans(),
            {stream.number: stream.name for stream in self._catalog.base_streams()},
            {query.name: query.error for query in self._catalog.queries() if query.error is not None},
            self._clock.now_us(),
            self._connection.measures.known(recent[-1].pins.get(PIN) if recent else None),
            is_running=is_running,
            incomplete=self._running.incomplete(recent[-1]) if recent else {},
            statistics=self._statistics(),
            utilization=str(self._registered.utilization()),
            not_shed=self._registered.not_shed(),
            refreshed=self._refreshing.status(recent[-1] if recent else None),
            not_refreshed=self._refreshing.not_refreshed(),
            overload=self._shedding.problem,
            reads=self._reads.measured.times(),
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

    # Streams.

    def _base_streams(self) -> dict[str, Stream]:
        return {stream.name: stream for stream in self._catalog.base_streams()}

    def _base_stream(self, name: str) -> Stream:
        self._connection.check_open()
        found = self._catalog.stream(name)
        if not isinstance(found, CreateStream):
            known = ", ".join(stream.name for stream in self._catalog.base_streams()) or "none yet"
            if self._catalog.table(name) is not None:
                raise CatalogError(f"{name!r} is a table: give it rows with db.load({name!r}, rows)")
            if found is not None:
                raise CatalogError(
                    f"{name!r} is a derived stream: its rows are those of what it reads, of {known}"
                )
            raise CatalogError(f"there is no base stream named {name!r}; there are {known}")
        return found.stream
