"""A stage on Spark: rows dealt out to shards, and on each shard the operators of a query over its state.

`stage_frame` makes the DataFrame; running it advances the state of every shard by one epoch, writes the
segments and the manifest, and gives one row per shard that says what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panes.aggregates.partials import partial_schema, partials_of, values_of
from panes.answers.store import ANSWER, AnswerStore
from panes.delta.delta import EXP, TS
from panes.operators.lower import lower
from panes.pipeline.cut import Stage, StageInput
from panes.pipeline.expressions import spark_column
from panes.pipeline.types import spark_type
from panes.plan.nodes import Node, Project, Select, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import DOUBLE
from panes.state.manifest import ShardState, shard_folder

_REPORT = "query bigint, shard bigint, changes bigint, bytes bigint, segments bigint"
_REPORT_SCHEMA = pa.schema(
    [(name, pa.int64()) for name in ("query", "shard", "changes", "bytes", "segments")]
)

_CAME = "_came"
"""The place of a row in its epoch, where the order of tuples of one time matters."""

Rows = Callable[[str], DataFrame]
"""The rows of a base stream in this epoch: its columns and `_ts`."""


@dataclass(frozen=True)
class Span:
    """The epoch to run, and the span of time it moves through."""

    epoch: int
    since: int
    clock: int


@dataclass(frozen=True)
class StageTask:
    """Everything that a task needs to advance one query by one epoch; it is shipped to the workers."""

    query: int
    stage: Stage
    shards: int
    strategy: str
    partitions: int
    folder: Path
    span: Span
    is_first: bool
    """Whether the query sees its first tuples in this epoch, and so has no state yet."""
    offset: int
    """The number of the partition of the job that is shard 0."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        shard = task.partitionId() - self.offset
        arrivals = self._arrivals(list(batches))
        dataflow = lower(
            self.stage.plan,
            strategy=self.strategy,
            partitions=self.partitions,
            inputs={source.replaced: source.input for source in self.stage.inputs},
        )
        state = ShardState(shard_folder(self.folder, shard))
        before = None if self.is_first else state.load(self.span.epoch - 1)
        if before is not None:
            state.restore(before, dataflow.buffers)
        answer = AnswerStore(state.chunks(before, ANSWER) if before else ())
        delta = dataflow.process(arrivals, self.span.since, self.span.clock)
        answer.apply(delta)
        chunks = {name: buffer.chunks for name, buffer in dataflow.buffers.items()}
        after = state.save(self.span.epoch, chunks | {ANSWER: answer.chunks}, before)
        report = [self.query, shard, delta.rows, after.bytes, len(after.entries)]
        yield pa.RecordBatch.from_arrays([pa.array([n], pa.int64()) for n in report], schema=_REPORT_SCHEMA)

    def _arrivals(self, batches: list[pa.RecordBatch]) -> Mapping[str, pa.Table]:
        rows = pa.Table.from_batches(batches) if batches else None
        arrivals = {}
        for number, source in enumerate(self.stage.inputs):
            if rows is None:
                continue
            mine = rows.filter(pa.array(rows.column("_input").to_numpy() == number))
            columns = mine.column(f"_{number}").combine_chunks().flatten()
            names = _column_names(source)
            if self.stage.is_ordered and source.group_by is None:
                came = pa.table(columns, names=[*names, _CAME])
                arrivals[source.input.name] = came.sort_by(_CAME).drop_columns(_CAME)
            else:
                arrivals[source.input.name] = pa.table(columns, names=names)
        return arrivals


def stage_frame(task: StageTask, rows: Rows) -> DataFrame:
    """The DataFrame that runs the task on every shard, also on those that get no rows."""
    sources = task.stage.inputs
    frames = [_input_frame(task.stage, source, rows, task.span) for source in sources]
    types = [frame.schema["_row"].dataType for frame in frames]
    tagged = []
    for number, frame in enumerate(frames):
        parts = [
            (F.col("_row") if place == number else F.lit(None).cast(type_)).alias(f"_{place}")
            for place, type_ in enumerate(types)
        ]
        tagged.append(frame.select(F.lit(number).alias("_input"), "_shard", *parts))
    together = tagged[0]
    for frame in tagged[1:]:
        together = together.union(frame)
    dealt = together.repartitionById(task.shards, F.pmod(F.col("_shard"), F.lit(task.shards)).cast("int"))
    return dealt.drop("_shard").mapInArrow(task, _REPORT)


def _input_frame(stage: Stage, source: StageInput, rows: Rows, span: Span) -> DataFrame:
    """The rows of an input: `_row`, a struct of its columns by place, and `_shard`, the hash of its keys."""
    frame, columns = _stateless(source.node, rows)
    schema = source.node.schema
    if source.group_by is None:
        named = [columns[name].alias(f"c{place}") for place, name in enumerate(schema.names)]
        came = [F.monotonically_increasing_id().alias(_CAME)] if stage.is_ordered else []
        frame = frame.select(*named, F.col(TS), *came)
        keys = [_key(schema, name, schema.names.index(name)) for name in source.keys]
        return frame.select(F.struct("*").alias("_row"), _hash(keys).alias("_shard"))
    frame = _partials(source, frame, columns, span)
    partial = partial_schema(source.group_by)
    keys = [_key(partial, name, partial.names.index(name)) for name in source.keys]
    return frame.select(F.struct("*").alias("_row"), _hash(keys).alias("_shard"))


def _stateless(node: Node, rows: Rows) -> tuple[DataFrame, dict[str, SparkColumn]]:
    """A chain of selections and projections over a stream: a frame, and each column of the node over it."""
    if isinstance(node, StreamScan):
        frame = rows(node.stream)
        columns = {name: F.col(f"`{name.removeprefix(node.alias + '.')}`") for name in node.schema.names}
        return frame, columns
    assert isinstance(node, (Select, Project)), node
    frame, columns = _stateless(node.child, rows)
    if isinstance(node, Select):
        return frame.where(spark_column(node.predicate, columns.__getitem__)), columns
    return frame, {name: spark_column(e, columns.__getitem__) for name, e in node.columns}


def _partials(source: StageInput, frame: DataFrame, columns: dict[str, SparkColumn], span: Span) -> DataFrame:
    """Partial sums per pane and group: what PreAggregate over the window would give, computed in Spark."""
    group_by, window = source.group_by, source.window
    assert group_by is not None
    assert window is not None
    assert window.slide_us is not None
    lifetime = [
        # A tuple that came late is seen from the first instant of the span on.
        _round_up(F.greatest(F.col(TS), F.lit(span.since + 1)), window.slide_us).alias(TS),
        _round_up(F.col(TS) + window.range_us, window.slide_us).alias(EXP),
    ]
    together = [columns[name] for name in group_by.keys]
    together += [spark_column(arg, columns.__getitem__) for _, arg in values_of(group_by)]
    named = [column.alias(f"c{place}") for place, column in enumerate(together)]
    sums = []
    for place, partial in enumerate(partials_of(group_by), start=len(named)):
        arg = F.lit(1) if partial.arg is None else spark_column(partial.arg, columns.__getitem__)
        function = F.count if partial.function == "count" else F.sum
        sums.append(function(arg).cast(spark_type(partial.type)).alias(f"c{place}"))
    grouped = frame.groupBy(*named, *lifetime).agg(*sums)
    return grouped.select(*(f"c{place}" for place in range(len(named) + len(sums))), TS, EXP)


def _round_up(instant: SparkColumn, step: int) -> SparkColumn:
    return instant + F.pmod(-instant, F.lit(step))


def _key(schema: Schema, name: str, place: int) -> SparkColumn:
    column = F.col(f"c{place}")
    # 0.0 and -0.0 are equal and must meet on one shard.
    return column + F.lit(0.0) if schema[name].type == DOUBLE else column


def _hash(keys: list[SparkColumn]) -> SparkColumn:
    # Rows without keys may go anywhere: deal them out in turn.
    return F.xxhash64(*keys) if keys else F.monotonically_increasing_id()


def _column_names(source: StageInput) -> list[str]:
    if source.group_by is None:
        return [*source.node.schema.names, TS]
    return [*partial_schema(source.group_by).names, TS, EXP]
