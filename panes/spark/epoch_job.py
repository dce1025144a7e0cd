"""The stages of an epoch as one Spark job: tasks that read rows, a shuffle, tasks that run operators, and again.

`epoch_job` makes the DataFrame of an epoch. Running it advances all queries by one epoch, writes their segments
and manifests, and gives the messages of its tasks to the driver. Its plan is small and nearly the same in every
epoch, however many queries there are: what differs is shipped inside the tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panes.delta.delta import BEGINNING
from panes.history.history_file import HistoryFile
from panes.ingest.arrived_file import ArrivedFile
from panes.ingest.bad_files import BadFile
from panes.plan.schema import Schema
from panes.plan.stream import Stream
from panes.spark.ingest_task import BatchTask, FedFile, Feed, FilesTask, IngestContext, TableFeed
from panes.spark.job_plan import JobPlan
from panes.spark.operator_task import OperatorTask, StatesBefore
from panes.spark.task_plans import SentPlans
from panes.stages.clock_rule import ClockRule
from panes.stages.exchange import BEGIN, MESSAGES
from panes.state.storage.locations import Location
from panes.state.storage.segments import SegmentEntry

_ROWS_PER_TASK = 50_000
"""A task for fewer rows costs more than it saves."""


@dataclass(frozen=True)
class Folders:
    """Where the tasks of an epoch write what is not state."""

    exchange: Path | None
    """None when tables go through Spark's shuffle."""
    aside: Location
    history: Location
    tables: Location


@dataclass(frozen=True)
class TableArrivals:
    """The versions of a table that an epoch may need."""

    columns: Schema
    versions: tuple[SegmentEntry, ...]
    """All of them, for queries that begin in this epoch."""
    new: SegmentEntry | None
    """What changes in this epoch."""


@dataclass(frozen=True)
class Arrivals:
    """The rows of an epoch, by stream: in files that tasks read, or in the batch that Spark has read."""

    streams: Sequence[Stream]
    files: Mapping[int, Sequence[ArrivedFile]] = field(default_factory=dict)
    """By the numbers of the streams whose files are read into Arrow."""
    arrival_us: int = BEGINNING
    """When these rows came, where they have no time of their own."""
    batches: Sequence[DataFrame] = ()
    """The rows of the others: of the files that Spark reads, and of the sources without files."""
    history: Mapping[int, Sequence[HistoryFile]] = field(default_factory=dict)
    """Of every stream, for the queries whose first epoch this is."""
    are_history: frozenset[int] = frozenset()
    """The numbers of the streams that keep these files as their history: tasks need not write one."""
    bad_files: Sequence[BadFile] = ()
    """Those that the driver could not read."""
    tables: Mapping[str, TableArrivals] = field(default_factory=dict)
    """By name."""

    @property
    def may_come(self) -> frozenset[int]:
        """The numbers of the streams from which rows may come."""
        return frozenset(
            stream.number for stream in self.streams if (self.files.get(stream.number, self.batches))
        )


def epoch_job(
    session: SparkSession,
    plan: JobPlan,
    plans: SentPlans,
    arrivals: Arrivals,
    rule: ClockRule,
    folders: Folders,
    states: StatesBefore,
    writer: str,
    writes_history: frozenset[int] = frozenset(),
) -> DataFrame:
    """The DataFrame that advances the queries on every shard, also on those that get no rows.

    `plans` are those of the plan, as tasks get them. `writer` tells this attempt at the epoch from all others.
    """
    context = IngestContext(
        rule.epoch,
        plan.tasks,
        plans,
        plan.values,
        folders.exchange,
        folders.aside,
        folders.history,
        folders.tables,
        writer,
        rule.now_us,
        arrivals.arrival_us,
    )
    frames = []
    files = _files_task(
        context, plan, arrivals, rule, writes_history, session.sparkContext.defaultParallelism
    )
    if files.files:
        tasks = len(files.files)
        frames.append(session.range(0, tasks, 1, tasks).mapInArrow(files, MESSAGES))
    if arrivals.batches:
        feeds = {
            number: Feed(
                stream,
                plan.inputs_of(stream.name),
                writes_history=stream.number in writes_history,
                since=rule.since(stream.number),
            )
            for number, stream in enumerate(arrivals.streams)
            if stream.number not in arrivals.files
        }
        frames += [batch.mapInArrow(BatchTask(context, feeds), MESSAGES) for batch in arrivals.batches]
    messages = reduce(DataFrame.union, frames) if frames else None
    rule = plan.rule
    for level in range(plan.levels):
        task = OperatorTask(
            level,
            plans,
            plan.values,
            rule,
            folders.exchange,
            states,
            writer,
            plan.asleep,
            is_last=level == plan.levels - 1,
        )
        if messages is None:
            by_task = session.range(0, plan.tasks, 1, plan.tasks).select(
                F.col("id").cast("int").alias("shard"),
                F.lit(BEGIN).alias("kind"),
                F.lit("{}").alias("content"),
                F.lit(None).cast("binary").alias("block"),
            )
        else:
            by_task = messages.repartitionById(plan.tasks, F.col("shard"))
        messages = by_task.mapInArrow(task, MESSAGES)
    assert messages is not None
    return messages


def _files_task(
    context: IngestContext,
    plan: JobPlan,
    arrivals: Arrivals,
    rule: ClockRule,
    writes_history: frozenset[int],
    tasks: int,
) -> FilesTask:
    """The files to read, in their order, about as many rows to each task."""
    feeds: list[Feed | TableFeed] = []
    files: list[tuple[int, FedFile]] = []
    for begins in (True, False):
        for (name, streams), inputs in plan.inputs_of_tables(of_new=begins).items():
            table = arrivals.tables[name]
            segments = table.versions if begins else () if table.new is None else (table.new,)
            files += [(len(feeds), segment) for segment in segments]
            feeds.append(TableFeed(table.columns, inputs, streams))
    for stream in arrivals.streams:
        since = rule.since(stream.number)
        of_new = plan.inputs_of(stream.name, of_new=True)
        if of_new and arrivals.history.get(stream.number):
            files += [(len(feeds), file) for file in arrivals.history[stream.number]]
            feeds.append(Feed(stream, of_new, is_history=True, since=since))
        if arrivals.files.get(stream.number):
            files += [(len(feeds), file) for file in arrivals.files[stream.number]]
            writes = stream.number in writes_history
            feeds.append(Feed(stream, plan.inputs_of(stream.name), writes_history=writes, since=since))
    rows = sum(file.rows for _, file in files)
    per_task = max(_ROWS_PER_TASK, -(-rows // tasks), 1)
    by_task_files: list[list[tuple[int, FedFile]]] = []
    full = per_task
    for place, file in files:
        if full >= per_task:
            by_task_files.append([])
            full = 0
        by_task_files[-1].append((place, file))
        full += file.rows
    return FilesTask(context, tuple(feeds), tuple(tuple(some) for some in by_task_files))
