"""Ingest tasks: the rows of streams become the inputs of the stages, each routed to its shards.

A task reads rows once, whatever the number of queries: it counts them, keeps apart those that cannot be used or
came late, keeps the history of streams whose source does not, and computes every input of every query from them.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import thread_time_ns

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, TS
from panes.delta.rows import int64, without
from panes.errors import StateError
from panes.history.history_file import CAME, EPOCH, HistoryFile
from panes.history.parts import read_rows, write_part
from panes.ingest.arrived_file import ArrivedFile, read_arrived
from panes.ingest.bad_files import BAD_FILE, BadFile, set_aside
from panes.ingest.rejected_rows import BAD, REJECTED, attempt_folder, keep_rejected_rows
from panes.ingest.rejected_times import with_times
from panes.operators.measures import INGEST, SHUFFLE, Measures, as_list
from panes.plan.schema import Schema
from panes.plan.stream import Stream
from panes.runtime.attempt import Attempt
from panes.runtime.first_seen import FirstSeen
from panes.runtime.task_plans import PlanValues, SentPlans
from panes.stages.clock_rule import Measured
from panes.stages.exchange import BESIDE, FAILED_INPUT, INPUT_STEPS, Exchange, Message, encoded
from panes.stages.fragment_run import FragmentRun
from panes.stages.query_failure import QueryFailure, blamed_on_the_query
from panes.stages.sketches import Sketches
from panes.state.storage.locations import Location
from panes.state.storage.segments import SegmentEntry
from panes.tables.table_versions import read_versions

STREAM = "_stream"
"""The column of a batch with the place of a row's stream among all streams."""

FedFile = HistoryFile | ArrivedFile | SegmentEntry
"""Rows of a stream, or versions of a table."""


@dataclass(frozen=True)
class Feed:
    """Where the rows of a stream go: the inputs that are computed from them, by number."""

    stream: Stream
    inputs: tuple[int, ...]
    is_history: bool = False
    """Whether they came in earlier epochs, and are for queries that come later."""
    writes_history: bool = False
    since: int = BEGINNING
    """The clock of the stream before the epoch: rows that are not after it come late."""


@dataclass(frozen=True)
class TableFeed:
    """Where changes of a table go: the inputs that are computed from them, by number."""

    columns: Schema
    """Those of the table."""
    inputs: tuple[int, ...]
    streams: frozenset[int]
    """The streams whose clocks say when a change takes effect."""


@dataclass(frozen=True)
class IngestContext:
    """What all ingest tasks have in common; it is shipped to the workers."""

    epoch: int
    tasks: int
    """How many tasks there are on the next level."""
    plans: SentPlans
    values: PlanValues
    exchange: Path | None
    """The folder of the exchange; None when tables go through Spark's shuffle."""
    aside: Location
    history: Location
    tables: Location
    writer: str
    """What tells this attempt at the epoch from all others, in the names of what tasks write."""
    now_us: int
    """The wall time of the epoch: event times that lie too far ahead of it are rejected."""
    arrival_us: int = BEGINNING
    """When the rows came, where they have no time of their own."""


@dataclass(frozen=True)
class FilesTask:
    """Reads Parquet files, and the versions of tables, into Arrow, without a detour through Java's rows.

    A file that cannot be read is rejected whole, before any row of it is taken.
    """

    context: IngestContext
    feeds: tuple[Feed | TableFeed, ...]
    files: tuple[tuple[tuple[int, FedFile], ...], ...]
    """For each task the files that it reads, each with the number of its feed."""

    def run(self, attempt: Attempt, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads the files of the tasks whose numbers it is given: an engine may count tasks in another way."""
        for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
            work = _Work(self.context, f"0-files-{number:06d}", replace(attempt, task=number))
            for place, file in self.files[number]:
                feed = self.feeds[place]
                if isinstance(feed, TableFeed):
                    assert isinstance(file, SegmentEntry)
                    self._take_versions(work, feed, file)
                elif isinstance(file, ArrivedFile):
                    self._take(work, feed, file)
                else:
                    assert isinstance(file, HistoryFile)
                    self._take_history(work, feed, file)
            yield from encoded(work.messages())

    def _take_history(self, work: _Work, feed: Feed, file: HistoryFile) -> None:
        try:
            with blamed_on_the_query():
                rows = read_rows(file, feed.stream, self._needed(feed))
        except QueryFailure as failure:
            work.fail(feed.inputs, failure)
        else:
            work.take(feed, rows)

    def _take_versions(self, work: _Work, feed: TableFeed, segment: SegmentEntry) -> None:
        inputs = self.context.plans.value.inputs
        read = {name for number in feed.inputs for name in inputs[number].source.columns}
        names = [name for name in feed.columns.names if name in read]
        try:
            with blamed_on_the_query():
                versions = read_versions(self.context.tables, [segment], feed.columns, names)
        except QueryFailure as failure:
            work.fail(feed.inputs, failure)
        else:
            work.compute(feed.inputs, versions.effective(feed.streams))

    def _take(self, work: _Work, feed: Feed, file: ArrivedFile) -> None:
        # Rows that came late, and those that are kept, are written whole.
        is_whole = feed.writes_history or file.file.min_ts <= feed.since
        columns = list(feed.stream.columns.names) if is_whole else self._needed(feed)
        try:
            # A row cannot have arrived before the epoch before this one.
            arrival_us = max(self.context.arrival_us, feed.since + 1)
            rows, unusable = read_arrived(file, feed.stream, columns, self.context.now_us, arrival_us)
        except (OSError, StateError, pa.ArrowException) as error:
            work.reject(set_aside(feed.stream, str(file.path), error))
        else:
            work.take(feed, rows, unusable)

    def _needed(self, feed: Feed) -> list[str]:
        inputs = self.context.plans.value.inputs
        read = {name for number in feed.inputs for name in inputs[number].source.columns}
        return [name for name in feed.stream.columns.names if name in read]


@dataclass(frozen=True)
class BatchTask:
    """Takes the rows that the engine has read, of all streams whose files tasks do not read.

    A batch has the columns `_stream`, the place of a row's stream among all streams; `_ts`, its time of arrival
    where that is the event time; `_bad`, why it cannot be used (mostly NULL); and `_0`, `_1`, … with the columns
    of each stream.
    """

    context: IngestContext
    feeds: Mapping[int, Feed]
    """By the number of the stream in the batch."""

    def run(self, attempt: Attempt, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Files, which may hold what came before, are first in the order of names.
        work = _Work(self.context, f"0-read-{attempt.task:06d}", attempt)
        for batch in batches:
            streams = batch.column(STREAM).to_numpy()
            for place, feed in self.feeds.items():
                is_mine = streams == place
                if is_mine.any():
                    self._take(work, feed, batch if is_mine.all() else batch.filter(pa.array(is_mine)), place)
        yield from encoded(work.messages())

    def _take(self, work: _Work, feed: Feed, batch: pa.RecordBatch, place: int) -> None:
        columns = batch.column(f"_{place}").flatten()
        schema = feed.stream.columns.arrow
        rows = pa.table([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        bad, ts = batch.column(BAD), None
        if feed.stream.timestamp is None:
            # A row cannot have arrived before the epoch before this one.
            ts = pa.array(np.maximum(batch.column(TS).to_numpy(), feed.since + 1))
        usable, unusable = with_times(feed.stream, rows, bad, self.context.now_us, ts)
        work.take(feed, usable, unusable)


def _since(began: int) -> float:
    """The CPU time since an instant of it, in microseconds."""
    return (thread_time_ns() - began) / 1000


def _as_seen(rows: pa.Table, first_seen: FirstSeen | None) -> pa.Table:
    """Rows with what an input takes of when they came: nothing where the clock before the epoch says all."""
    if first_seen is not None:
        return first_seen.with_came(rows)
    return without(rows, CAME, EPOCH)


class _Work:
    """What one task has done so far."""

    def __init__(self, context: IngestContext, name: str, attempt: Attempt) -> None:
        self._context = context
        self._name = name
        self._number = attempt.task
        self._writer = f"{context.writer}_{attempt.number}"
        self._exchange = Exchange(context.exchange, name, self._writer)
        self._measured: dict[int, Measured] = {}
        self._kept: dict[int, list[pa.Table]] = {}
        self._failed: dict[int, str] = {}
        """Why inputs could not be computed."""
        self._aside: dict[tuple[int, str], list[pa.Table]] = {}
        self._rejected: list[BadFile] = []
        self._steps: dict[int, dict[str, Measures]] = {}
        """What the steps of each input did."""
        self._sketches = Sketches()
        self._began = thread_time_ns()
        self._rows = 0
        self._stepped_us = 0.0
        self._routed = Measures(spans=1)
        """What the routing of rows to shards cost."""

    def take(self, feed: Feed, rows: pa.Table, unusable: pa.Table | None = None) -> None:
        """Rows of a stream: its columns (or those that are needed) and `_ts`; those of the history have `_came`
        and `_epoch` too."""
        self._rows += rows.num_rows
        if not feed.is_history:
            self._measure(feed, rows, unusable)
            if feed.writes_history and rows.num_rows:
                self._kept.setdefault(feed.stream.number, []).append(rows)
        self.compute(feed.inputs, rows, is_history=feed.is_history)

    def compute(self, inputs: Iterable[int], rows: pa.Table, *, is_history: bool = False) -> None:
        """Computes inputs from rows of a stream, or from changes of a table: their columns, `_ts` and
        `_weight`."""
        if not rows.num_rows:
            return
        runs: dict[FirstSeen | None, FragmentRun] = {}
        for number in inputs:
            first_seen = self._context.values.first_seen.get(number)
            if first_seen not in runs:
                runs[first_seen] = FragmentRun(_as_seen(rows, first_seen))
            try:
                with blamed_on_the_query():
                    self._compute(number, runs[first_seen], is_history=is_history)
            except QueryFailure as failure:
                self.fail([number], failure)

    def fail(self, inputs: Iterable[int], failure: QueryFailure) -> None:
        """Inputs that cannot be computed: the queries that read them are suspended."""
        self._failed |= dict.fromkeys(inputs, str(failure))

    def _compute(self, number: int, run: FragmentRun, *, is_history: bool) -> None:
        route, values = self._context.plans.value.inputs[number], self._context.values
        members = values.slices_of(route, is_history=is_history)
        began, before_us = thread_time_ns(), run.looked_up_us
        computed, steps = run.input(route.source, values.since_of(number), members, values.box_of(number))
        # To look up values is done for all queries of the stream, as reading them is.
        self._stepped_us += _since(began) - (run.looked_up_us - before_us)
        before = self._steps.setdefault(number, {})
        for name, measures in steps.items():
            before[name] = before.get(name, Measures()) + measures
        if computed.num_rows:
            began = thread_time_ns()
            hashes = None
            if number in values.sketched:
                hashes = route.hashes(computed)
                self._sketches.add(number, hashes)
            for shard, mine in route.split(computed, hashes):
                self._exchange.add(number, shard, mine)
            self._routed += Measures(rows_in=computed.num_rows, cpu_us=_since(began))

    def reject(self, file: BadFile) -> None:
        """A file that cannot be read."""
        self._rejected.append(file)
        before = self._measured.get(file.stream, Measured(file.stream))
        self._measured[file.stream] = replace(before, bad_files=before.bad_files + 1)

    def messages(self) -> Iterator[Message]:
        """Writes what is to be written, and says to the next level what there is."""
        # What it took to read rows and to look at them, beside what was computed from them.
        read_us = _since(self._began) - self._stepped_us - self._routed.cpu_us
        ingested = Measures(rows_in=self._rows, cpu_us=read_us, spans=1)
        context = self._context
        attempt = attempt_folder(context.epoch, context.writer)
        for (stream, kind), tables in self._aside.items():
            rows = pa.concat_tables(tables)
            name = f"{self._name}-{self._writer}"
            rejected = keep_rejected_rows(context.aside, stream, kind, attempt, name, rows)
            yield Message(0, REJECTED, asdict(rejected))
        for stream, tables in self._kept.items():
            rows = pa.concat_tables(tables)
            part = write_part(context.history, stream, context.epoch, self._number, rows, self._writer)
            yield Message(0, "kept", {"stream": stream, "part": asdict(part)})
        for file in self._rejected:
            yield Message(0, BAD_FILE, asdict(file) | {"host": socket.gethostname()})
        for measured in self._measured.values():
            for task in range(self._context.tasks):
                yield Message(task, "measured", asdict(measured))
        for number, error in self._failed.items():
            for task in range(self._context.tasks):
                yield Message(task, FAILED_INPUT, {"input": number, "error": error})
        for number, steps in self._steps.items():
            content = {"input": number, "steps": {name: as_list(m) for name, m in steps.items()}}
            yield Message(0, INPUT_STEPS, content)
        yield from self._sketches.messages()
        began = thread_time_ns()
        yield from self._exchange.send()
        routed = self._routed + Measures(cpu_us=_since(began))
        yield Message(0, BESIDE, {INGEST: as_list(ingested), SHUFFLE: as_list(routed)})

    def _measure(self, feed: Feed, rows: pa.Table, unusable: pa.Table | None) -> None:
        number = feed.stream.number
        bad = 0 if unusable is None else unusable.num_rows
        if unusable is not None and bad:
            self._aside.setdefault((number, "bad"), []).append(unusable)
        ts = int64(rows, TS)
        late = ts <= feed.since
        late_rows = int(np.count_nonzero(late)) if feed.since != BEGINNING else 0
        if late_rows:
            put = rows.filter(pa.array(late)).select(feed.stream.columns.names)
            self._aside.setdefault((number, "late"), []).append(put)
        before = self._measured.get(number, Measured(number))
        bounds = [t for t in (before.min_ts, before.max_ts) if t is not None]
        if len(ts):
            bounds += [int(ts.min()), int(ts.max())]
        self._measured[number] = replace(
            before,
            rows=before.rows + len(ts) + bad,
            min_ts=min(bounds, default=None),
            max_ts=max(bounds, default=None),
            late=before.late + late_rows,
            bad=before.bad + bad,
        )
