"""The stages of an epoch as one Spark job: tasks that read rows, a shuffle, tasks that run operators, and again.

`frame` makes the DataFrame of an epoch. Running it advances all queries by one epoch, writes their segments and
manifests, and gives the messages of its tasks to the driver. Its plan is small and nearly the same in every epoch,
however many queries there are: what differs is shipped inside the tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panes.delta.delta import BEGINNING
from panes.history.history_file import HistoryFile
from panes.ingest.arrived_file import ArrivedFile
from panes.ingest.bad_files import BadFile
from panes.plan.stream import Stream
from panes.spark.ingest_task import BatchTask, Feed, FilesTask, IngestContext
from panes.spark.operator_task import OperatorTask, StageTask
from panes.stages.clock_rule import ClockRule
from panes.stages.exchange import BEGIN, MESSAGES
from panes.stages.fragment import matched_in
from panes.stages.routing import Route
from panes.stages.running_query import RunningQuery

_ROWS_PER_TASK = 50_000
"""A task for fewer rows costs more than it saves."""


@dataclass(frozen=True)
class Folders:
    """Where the tasks of an epoch write what is not state."""

    exchange: Path
    aside: Path
    history: Path


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


def frame(
    session: SparkSession,
    queries: Sequence[RunningQuery],
    arrivals: Arrivals,
    rule: ClockRule,
    folders: Folders,
    writes_history: frozenset[int] = frozenset(),
    pins: Mapping[str, str] | None = None,
) -> DataFrame:
    """The DataFrame that advances the queries on every shard, also on those that get no rows.

    `pins` are those of the record of the epoch before.
    """
    plan = _Plan(queries, rule.epoch)
    below = IngestContext(
        rule.epoch,
        plan.tasks,
        tuple(plan.inputs),
        folders.exchange,
        folders.aside,
        folders.history,
        rule.now_us,
        arrivals.arrival_us,
    )
    frames = []
    files = _files_task(below, plan, arrivals, rule, writes_history, session.sparkContext.defaultParallelism)
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
        frames += [batch.mapInArrow(BatchTask(below, feeds), MESSAGES) for batch in arrivals.batches]
    messages = reduce(DataFrame.union, frames) if frames else None
    for level in range(plan.levels):
        task = OperatorTask(
            level,
            tuple(stage for stage in plan.stages if stage.query.levels[stage.stage] == level),
            tuple(plan.inputs),
            tuple(plan.input_levels),
            rule,
            folders.exchange,
            dict(pins or {}),
        )
        if messages is None:
            by_task = session.range(0, plan.tasks, 1, plan.tasks).select(
                F.col("id").cast("int").alias("shard"),
                F.lit(BEGIN).alias("kind"),
                F.lit("{}").alias("content"),
            )
        else:
            by_task = messages.repartitionById(plan.tasks, F.col("shard"))
        messages = by_task.mapInArrow(task, MESSAGES)
    assert messages is not None
    return messages


class _Plan:
    """Which inputs there are, and which stage of which query reads them."""

    def __init__(self, queries: Sequence[RunningQuery], epoch: int) -> None:
        self.tasks = max((query.shards for query in queries), default=1)
        self.stages: list[StageTask] = []
        self.inputs: list[Route] = []
        self.input_levels: list[int] = []
        self._epoch = epoch
        self._numbers: dict[tuple[Route, int, int, bool], int] = {}
        self._of_new: set[int] = set()
        for place, query in enumerate(queries):
            self._add(query, place)

    @property
    def levels(self) -> int:
        return max((max(stage.query.levels) + 1 for stage in self.stages), default=1)

    def inputs_of(self, stream: str, *, of_new: bool = False) -> tuple[int, ...]:
        """The inputs that are computed from a stream, or those of queries that begin in this epoch."""
        return tuple(
            number
            for number, dealt in enumerate(self.inputs)
            if dealt.source.stage is None
            and dealt.source.scan.stream == stream
            and (not of_new or number in self._of_new)
        )

    def _add(self, query: RunningQuery, place: int) -> None:
        inputs: list[list[int]] = []
        outputs: list[list[int]] = [[] for _ in query.stages]
        homes = [None if stage.is_sharded else place % self.tasks for stage in query.stages]
        for number, stage in enumerate(query.stages):
            inputs.append([])
            for source in stage.inputs:
                found = self._number(Route(source, query.shards, homes[number]), query, query.levels[number])
                inputs[-1].append(found)
                if source.stage is not None:
                    outputs[source.stage].append(found)
        for number, home in enumerate(homes):
            self.stages.append(StageTask(query, number, tuple(inputs[number]), tuple(outputs[number]), home))

    def _number(self, dealt: Route, query: RunningQuery, level: int) -> int:
        """Queries share what they compute alike from a stream, unless some see its history and some do not."""
        is_matched = dealt.source.stage is None and matched_in(dealt.source.node) is not None
        if is_matched:
            dealt = replace(dealt, members=query.members)
            is_new = query.members is not None and query.members.fresh is not None
        else:
            is_new = query.first_epoch == self._epoch
        owner = -1 if dealt.source.stage is None else query.id
        key = (dealt, level, owner, is_new)
        if key not in self._numbers:
            self._numbers[key] = len(self.inputs)
            self.inputs.append(dealt)
            self.input_levels.append(level)
            if is_new:
                self._of_new.add(self._numbers[key])
        return self._numbers[key]


def _files_task(
    below: IngestContext,
    plan: _Plan,
    arrivals: Arrivals,
    rule: ClockRule,
    writes_history: frozenset[int],
    tasks: int,
) -> FilesTask:
    """The files to read, dealt out in their order, about as many rows to each task."""
    feeds: list[Feed] = []
    files: list[tuple[int, HistoryFile | ArrivedFile]] = []
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
    dealt: list[list[tuple[int, HistoryFile | ArrivedFile]]] = []
    full = per_task
    for place, file in files:
        if full >= per_task:
            dealt.append([])
            full = 0
        dealt[-1].append((place, file))
        full += file.rows
    return FilesTask(below, tuple(feeds), tuple(tuple(some) for some in dealt))
