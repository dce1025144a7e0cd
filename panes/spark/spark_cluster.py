"""The Spark session as the place where the tasks of an epoch run: one job per epoch.

The plan of the job is small and nearly the same in every epoch, however many queries there are: what differs is
shipped inside the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panes.runtime.attempt import Attempt, Task
from panes.runtime.epoch_job import EpochJob
from panes.runtime.task_plans import SentPlans, TaskPlans
from panes.spark.broadcasts import Broadcasts
from panes.spark.session import runs_here
from panes.stages.exchange import BEGIN, MESSAGES, Message, decoded
from panes.stages.running_query import RunningQuery


@dataclass(frozen=True)
class SparkCluster:
    """A session, and the broadcasts that its epochs share."""

    session: SparkSession
    broadcasts: Broadcasts

    @property
    def cores(self) -> int:
        """The number of cores, as Spark counts them."""
        return int(self.session.sparkContext.defaultParallelism)

    @property
    def is_one_machine(self) -> bool:
        return runs_here(self.session)

    def with_indexes(self, queries: Sequence[RunningQuery]) -> list[RunningQuery]:
        """Broadcasts the query indexes."""
        return self.broadcasts.shipped(self.session.sparkContext, queries)

    def sent(self, plans: TaskPlans) -> SentPlans:
        """Broadcasts the plans, unless an earlier epoch has."""
        return self.broadcasts.plans(self.session.sparkContext, plans)

    def run(self, job: EpochJob) -> list[Message]:
        """Runs the job and returns the messages of its last level."""
        return decoded([self._frame(job).toArrow()])

    def _frame(self, job: EpochJob) -> DataFrame:
        frames = []
        files = len(job.files.files)
        if files:
            by_number = self.session.range(0, files, 1, files)
            frames.append(by_number.mapInArrow(_InSpark(job.files), MESSAGES))
        frames += [batch.mapInArrow(_InSpark(job.rows), MESSAGES) for batch in job.batches]
        messages = reduce(DataFrame.union, frames) if frames else self._begin(job.tasks)
        is_routed = not frames
        for level in job.levels:
            by_task = messages if is_routed else messages.repartitionById(job.tasks, F.col("shard"))
            messages = by_task.mapInArrow(_InSpark(level), MESSAGES)
            is_routed = False
        return messages

    def _begin(self, tasks: int) -> DataFrame:
        """A message for every task, where nothing else reaches them."""
        return self.session.range(0, tasks, 1, tasks).select(
            F.col("id").cast("int").alias("shard"),
            F.lit(BEGIN).alias("kind"),
            F.lit("{}").alias("content"),
            F.lit(None).cast("binary").alias("block"),
        )


@dataclass(frozen=True)
class _InSpark:
    """A task as the function of a `mapInArrow`; it is shipped to the workers."""

    task: Task

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        return self.task.run(Attempt(context.partitionId(), context.taskAttemptId()), batches)
