"""One epoch: from a Spark micro-batch to committed answers.

    measure   one small job: how many rows, up to what time, how many late or without a time
    clock     the slowest stream decides how far time has come
    stages    one job that advances every registered query on every shard
    commit    one file, by rename; from then on readers see this epoch

Epochs have numbers of their own: those of Spark's micro-batches count only the epochs that bring rows.
Whatever happens before the commit leaves the epoch before it as it was. Spark does a failed epoch again, from
the same offsets, and everything it writes then has the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panes.clock import Clock
from panes.crash_points import reach
from panes.delta.delta import BEGINNING
from panes.language.statements import CreateStream
from panes.pipeline.aside import Aside
from panes.pipeline.batch import BAD, arriving_after, no_rows, rows_of
from panes.pipeline.progress import Progress, complete_to, measure, rows_since, with_arrival_times
from panes.pipeline.session import set_epoch_conf
from panes.pipeline.stages import Span, Stages, StandingQuery
from panes.state.epochs import NOTHING, EpochLog, EpochRecord, QueryProgress
from panes.state.manifest import ShardState, shard_folder


@dataclass(frozen=True)
class Workload:
    """What an epoch has to do: asked for anew at every epoch, so queries come and go while it runs."""

    queries: Sequence[StandingQuery]
    retain_epochs: int
    idle_after_us: int
    """After so long without rows a stream no longer holds back the clock."""


class EpochRunner:
    """Runs epochs over the union of all base streams; its `run` is what Spark calls with each micro-batch."""

    def __init__(
        self,
        streams: Sequence[CreateStream],
        workload: Callable[[int], Workload],
        log: EpochLog,
        aside: Aside,
        clock: Clock,
        after_commit: Callable[[EpochRecord], None],
    ) -> None:
        self._streams = streams
        self._workload = workload
        self._log = log
        self._aside = aside
        self._clock = clock
        self._after_commit = after_commit
        self._stages = Stages()

    def run(self, batch: DataFrame, batch_id: int) -> None:
        """Takes in a micro-batch, and moves the clock to where all streams have brought everything."""
        started = self._clock.elapsed()
        before = self._log.latest(before_batch=batch_id) or NOTHING
        workload = self._workload(before.epoch + 1)
        set_epoch_conf(batch.sparkSession)
        batch = arriving_after(batch, self._streams, before.clock)
        # The batch is read by the measuring job and by every input of every query.
        is_kept = sum(len(query.stage.inputs) for query in workload.queries) > 1
        if is_kept:
            batch = batch.persist()
        try:
            now_us = self._clock.now_us()
            progress = measure(batch, self._streams, before.streams, before.clock, now_us)
            rows = rows_since(progress, before.streams)
            reached = complete_to(self._streams, progress, now_us, workload.idle_after_us)
            span = Span(before.epoch + 1, before.clock, max(before.clock, reached))
            if rows == 0 and span.clock == before.clock:
                return  # nothing came and no time passed: there is no epoch
            self._aside.put(batch, self._streams, before.streams, progress, before.clock, span.epoch)
            reports = self._advance(batch, workload, span)
        finally:
            if is_kept:
                batch.unpersist()
        self._commit(workload, span, batch_id, rows, started, progress, reports)

    def catch_up(self, session: SparkSession) -> None:
        """Moves the clock to the last tuple's time, when the sources have nothing more to bring.

        An epoch on its own cannot: the next tuple may have the same time, and it must not come late.
        """
        before = self._log.latest() or NOTHING
        last = max((stream.max_ts for stream in before.streams.values()), default=BEGINNING)
        self._move_clock(session, before, before.streams, last)

    def beat(self, session: SparkSession) -> None:
        """Moves the clock though nothing has come, so that answers expire in time."""
        before = self._log.latest() or NOTHING
        if not all(stream.name in before.streams for stream in self._streams):
            return
        now_us = self._clock.now_us()
        progress = with_arrival_times(self._streams, before.streams, now_us)
        idle_after_us = self._workload(before.epoch + 1).idle_after_us
        self._move_clock(
            session, before, progress, complete_to(self._streams, progress, now_us, idle_after_us)
        )

    def _move_clock(self, session: SparkSession, before: EpochRecord, progress: Progress, clock: int) -> None:
        """An epoch without rows."""
        if clock <= before.clock:
            return
        started = self._clock.elapsed()
        span = Span(before.epoch + 1, before.clock, clock)
        workload = self._workload(span.epoch)
        reports = self._advance(no_rows(session, self._streams), workload, span)
        self._commit(workload, span, before.batch, 0, started, progress, reports)

    def _commit(
        self,
        workload: Workload,
        span: Span,
        batch_id: int,
        rows: int,
        started: float,
        streams: Progress,
        queries: dict[int, QueryProgress],
    ) -> None:
        record = EpochRecord(
            epoch=span.epoch,
            batch=batch_id,
            clock=span.clock,
            rows=rows,
            seconds=self._clock.elapsed() - started,
            finished_us=self._clock.now_us(),
            streams=streams,
            queries=queries,
        )
        reach("before commit")
        self._log.commit(record)
        reach("after commit")
        self._collect(workload, span.epoch)
        self._after_commit(record)

    def _advance(self, batch: DataFrame, workload: Workload, span: Span) -> dict[int, QueryProgress]:
        numbers = {stream.name: number for number, stream in enumerate(self._streams)}

        def rows(stream: str) -> DataFrame:
            return rows_of(batch, numbers[stream]).where(F.col(BAD).isNull())

        if not workload.queries:
            return {}
        progress: dict[int, QueryProgress] = {}
        for report in self._stages.frame(workload.queries, rows, span).toArrow().to_pylist():
            so_far = progress.get(report["query"], QueryProgress(shards=0, changes=0, bytes=0, segments=0))
            progress[report["query"]] = replace(
                so_far,
                shards=so_far.shards + 1,
                changes=so_far.changes + report["changes"],
                bytes=so_far.bytes + report["bytes"],
                segments=so_far.segments + report["segments"],
            )
        return progress

    def _collect(self, workload: Workload, epoch: int) -> None:
        oldest = epoch - workload.retain_epochs
        for query in workload.queries:
            for shard in range(query.shards):
                ShardState(shard_folder(query.folder, shard)).collect(oldest)
        self._log.collect(oldest)
