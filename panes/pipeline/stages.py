"""The stages of an epoch on Spark: rows dealt out to shards, and on each shard the operators of every query.

`Stages.frame` makes the DataFrame of an epoch: the stateless work on every input in Spark expressions, one shuffle
for all of them, and one task per shard that runs the queries over their state. Running it advances all queries by
one epoch, writes their segments and manifests, and gives a row per query and shard that says what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panes.answers.store import ANSWER, AnswerStore
from panes.delta.delta import EXP, TS
from panes.operators.lower import lower
from panes.pipeline.cut import Stage, StageInput
from panes.pipeline.inputs import CAME, SHARD, InputColumns, column_names
from panes.state.manifest import ShardState, shard_folder

_INPUT = "_input"
_REPORT = "query bigint, shard bigint, changes bigint, bytes bigint, segments bigint"
_REPORT_SCHEMA = pa.schema(
    [(name, pa.int64()) for name in ("query", "shard", "changes", "bytes", "segments")]
)

Rows = Callable[[str], DataFrame]
"""The rows of a base stream in this epoch: its columns and `_ts`."""


@dataclass(frozen=True)
class StandingQuery:
    """A registered query, ready to run."""

    id: int
    stage: Stage
    shards: int
    strategy: str
    partitions: int
    first_epoch: int
    """The epoch in which it sees its first tuples, and so has no state yet."""
    folder: Path


@dataclass(frozen=True)
class Span:
    """The epoch to run, and the span of time it moves through."""

    epoch: int
    since: int
    clock: int


@dataclass(frozen=True)
class _Dealt:
    """An input and how its rows are dealt out to the tasks: to the first `shards` of them by key, or all to one.

    Queries that read the same input in the same way share it.
    """

    source: StageInput
    is_ordered: bool
    shards: int
    home: int | None


@dataclass(frozen=True)
class _QueryTask:
    """A query, the inputs it reads, and the task on which it runs if it runs on one alone."""

    query: StandingQuery
    inputs: tuple[int, ...]
    home: int | None

    def shard_of(self, task: int) -> int | None:
        """The shard that a task works on; None when it has none of this query's."""
        if self.home is not None:
            return 0 if task == self.home else None
        return task if task < self.query.shards else None


@dataclass(frozen=True)
class _EpochTask:
    """What one task does for all queries; it is shipped to the workers."""

    queries: tuple[_QueryTask, ...]
    inputs: tuple[_Dealt, ...]
    span: Span

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        arrivals = self._arrivals(list(batches))
        reports = []
        for task in self.queries:
            shard = task.shard_of(context.partitionId())
            if shard is not None:
                reports.append(_advance(task, shard, arrivals, self.span))
        columns = list(zip(*reports, strict=True)) or [()] * len(_REPORT_SCHEMA)
        yield pa.RecordBatch.from_arrays([pa.array(c, pa.int64()) for c in columns], schema=_REPORT_SCHEMA)

    def _arrivals(self, batches: list[pa.RecordBatch]) -> Mapping[int, pa.Table]:
        """The rows of each input that has any."""
        if not batches:
            return {}
        rows = pa.Table.from_batches(batches)
        numbers = rows.column(_INPUT).to_numpy()
        arrivals = {}
        for number, dealt in enumerate(self.inputs):
            mine = rows.column(f"_{number}").filter(pa.array(numbers == number)).combine_chunks()
            if len(mine):
                came = pa.table(mine.flatten(), names=column_names(dealt.source, is_ordered=dealt.is_ordered))
                if dealt.is_ordered:
                    came = came.sort_by(CAME).drop_columns(CAME)
                arrivals[number] = _in_time(dealt.source, came, self.span.since)
        return arrivals


class Stages:
    """Makes the DataFrames of epochs; it keeps the columns that it has made, for the epochs that follow."""

    def __init__(self) -> None:
        self._columns: dict[_Dealt, InputColumns] = {}
        self._nothing: dict[tuple[StructType, int], SparkColumn] = {}

    def frame(self, queries: Sequence[StandingQuery], rows: Rows, span: Span) -> DataFrame:
        """The DataFrame that advances the queries on every shard, also on those that get no rows."""
        tasks = max(query.shards for query in queries)
        numbers: dict[_Dealt, int] = {}
        todo = []
        for place, query in enumerate(queries):
            home = None if query.stage.is_sharded else place % tasks
            inputs = [_Dealt(s, query.stage.is_ordered, query.shards, home) for s in query.stage.inputs]
            todo.append(_QueryTask(query, tuple(numbers.setdefault(d, len(numbers)) for d in inputs), home))
        together = self._union(list(numbers), rows)
        by_task = together.repartitionById(tasks, F.col(SHARD)).drop(SHARD)
        return by_task.mapInArrow(_EpochTask(tuple(todo), tuple(numbers), span), _REPORT)

    def _union(self, inputs: Sequence[_Dealt], rows: Rows) -> DataFrame:
        """All inputs as one: `_input` says which, and `_0`, `_1`, … hold the columns of each."""
        columns = [self._columns_of(dealt) for dealt in inputs]
        frames = []
        for number, (dealt, mine) in enumerate(zip(inputs, columns, strict=True)):
            parts = [
                mine.row.alias(f"_{place}") if place == number else self._nothing_of(other.type, place)
                for place, other in enumerate(columns)
            ]
            tag = F.lit(number).alias(_INPUT)
            over = mine.over(rows(dealt.source.scan.stream))
            frames.append(over.select(tag, mine.shard.alias(SHARD), *parts))
        return reduce(DataFrame.union, frames)

    def _columns_of(self, dealt: _Dealt) -> InputColumns:
        if dealt not in self._columns:
            made = InputColumns.of(dealt.source, is_ordered=dealt.is_ordered)
            if dealt.home is None:
                shard = F.pmod(made.shard, F.lit(dealt.shards)).cast("int")
            else:
                shard = F.lit(dealt.home)
            self._columns[dealt] = replace(made, shard=shard)
        return self._columns[dealt]

    def _nothing_of(self, type_: StructType, place: int) -> SparkColumn:
        key = (type_, place)
        if key not in self._nothing:
            self._nothing[key] = F.lit(None).cast(type_).alias(f"_{place}")
        return self._nothing[key]


def _advance(task: _QueryTask, shard: int, arrivals: Mapping[int, pa.Table], span: Span) -> Sequence[int]:
    """Takes one query on one shard through the span, and stores what it then knows."""
    query = task.query
    dataflow = lower(
        query.stage.plan,
        strategy=query.strategy,
        partitions=query.partitions,
        inputs={source.replaced: source.input for source in query.stage.inputs},
    )
    state = ShardState(shard_folder(query.folder, shard))
    before = None if span.epoch == query.first_epoch else state.load(span.epoch - 1)
    if before is not None:
        state.restore(before, dataflow.buffers)
    answer = AnswerStore(state.chunks(before, ANSWER) if before else ())
    mine = {
        source.input.name: arrivals[number]
        for source, number in zip(query.stage.inputs, task.inputs, strict=True)
        if number in arrivals
    }
    delta = dataflow.process(mine, span.since, span.clock)
    answer.apply(delta)
    chunks = {name: buffer.chunks for name, buffer in dataflow.buffers.items()}
    after = state.save(span.epoch, chunks | {ANSWER: answer.chunks}, before)
    return query.id, shard, delta.rows, after.bytes, len(after.entries)


def _in_time(source: StageInput, rows: pa.Table, since: int) -> pa.Table:
    """Partial sums of tuples that came late are seen from the first slide of the span on.

    Not done in Spark: a number that changes with every epoch would make it compile every epoch anew.
    """
    if source.window is None or source.window.slide_us is None:
        return rows
    ts = rows.column(TS).to_numpy()
    first = -(-(since + 1) // source.window.slide_us) * source.window.slide_us
    if ts.min() >= first:
        return rows
    rows = rows.set_column(rows.column_names.index(TS), TS, pa.array(np.maximum(ts, first)))
    return rows.filter(pa.array(rows.column(EXP).to_numpy() > first))
