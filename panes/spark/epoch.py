"""One epoch: from a Spark micro-batch to committed answers.

    arrivals  which files Spark gave this epoch, and what of the past new queries need
    tasks     one Spark job that reads the rows once, finds the clock, and advances every query on every shard
    history   the rows stay readable for queries that come later
    commit    one file, by rename; from then on readers see this epoch
    collect   what nobody may read any more is removed

Epochs have numbers of their own: those of Spark's micro-batches count only the epochs that bring rows.
Whatever happens before the commit leaves the epoch before it as it was. Spark does a failed epoch again, from
the same offsets, and everything it writes then has the same names.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from panes.clock import Clock
from panes.crash_points import reach
from panes.delta.delta import BEGINNING
from panes.history.event_time import latest_time
from panes.history.history_store import History, pin_of
from panes.history.parts import Part
from panes.history.retention import Retained
from panes.ingest.bad_files import BadFile
from panes.ingest.pushed_files import PushedFiles
from panes.ingest.rejected_log import RejectedLog, pin_of_rejected
from panes.ingest.rejected_rows import REJECTED, RejectedPart
from panes.operators.measures import Measures
from panes.plan.stream import Stream
from panes.spark.broadcasts import Broadcasts
from panes.spark.done_by_steps import done_by_steps
from panes.spark.epoch_files import EpochFiles, files_of_epoch
from panes.spark.epoch_job import Arrivals, Folders, epoch_job
from panes.spark.job_plan import JobPlan
from panes.spark.operator_task import Report, StatesBefore
from panes.spark.session import exchanges_files, set_epoch_conf
from panes.spark.sources import brings_files
from panes.spark.spark_failures import SPARK_ERRORS
from panes.spark.unseen_files import bad_files_of_tasks
from panes.stages.clock_rule import ClockRule, Measured, Moved, Occasion, Position, Span
from panes.stages.exchange import FAILED_QUERY, STATES, Message, decoded
from panes.stages.measure_log import PIN, MeasureLog, StepMeasures, StepPlace, measured_after
from panes.stages.running_query import RunningQuery
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.checkpoint_copy import PIN as CHECKPOINT_COPY
from panes.state.storage.checkpoint_copy import CheckpointCopy
from panes.state.storage.collect_states import StateCollector
from panes.state.storage.epoch_log import NOTHING, EpochLog, EpochRecord, MissingRows, QueryProgress
from panes.state.storage.epoch_states import EpochStates, pin_of_task
from panes.state.storage.locations import Location

_STATE_EPOCHS = 8
"""The number of epochs that keep the states of operators: more than can be done again after a failure."""


@dataclass(frozen=True)
class Workload:
    """What an epoch has to do: asked for anew at every epoch, so queries come and go while it runs."""

    queries: Sequence[RunningQuery]
    retain_epochs: int
    idle_after_us: int
    """After so long without rows a stream no longer holds back the clock."""
    exchange: str = "auto"
    """How tables reach other tasks: the setting of that name."""
    retained: Mapping[int, Retained] = field(default_factory=dict)
    """What is kept of each stream, by number."""
    missing: Mapping[int, Mapping[int, MissingRows]] = field(default_factory=dict)
    """What queries have not seen, by query and stream, where their windows may reach back to it."""


class _Began(NamedTuple):
    """When an epoch began: to measure it, and as wall time."""

    elapsed: float
    now_us: int


class _States(NamedTuple):
    """What the record of an epoch has of the states after it."""

    pins: dict[str, str]
    tasks: int
    released: list[str]
    released_before: list[str]


class EpochRunner:
    """Runs epochs over the union of all base streams; its `run` is what Spark calls with each micro-batch."""

    def __init__(
        self,
        folder: Path,
        home: Location,
        streams: Sequence[Stream],
        workload: Callable[[EpochRecord], Workload],
        log: EpochLog,
        history: History,
        pushed: PushedFiles,
        copy: CheckpointCopy | None,
        clock: Clock,
        after_commit: Callable[[EpochRecord], None],
        suspend: Callable[[Mapping[int, str]], None],
        broadcasts: Broadcasts,
    ) -> None:
        self._folder = folder
        self._home = home
        self._states = home / "states"
        self._collector = StateCollector(self._states, log)
        self._streams = streams
        self._numbers = {stream.name: stream.number for stream in streams}
        self._workload = workload
        self._log = log
        self._history = history
        self._pushed = pushed
        self._copy = copy
        self._rejected = RejectedLog(home / "aside")
        self._writer = ""
        """Tells the attempt at an epoch that is under way, or that failed, from all others; empty when there is
        none."""
        self._clock = clock
        self._after_commit = after_commit
        self._checkpoint = Checkpoint(folder / "checkpoint")
        self._measures = MeasureLog(home / "measures")
        self._measured: tuple[str | None, Mapping[StepPlace, StepMeasures]] = None, {}
        """The last measures that were written, by their pin."""
        self._suspend = suspend
        self._broadcasts = broadcasts
        self._phases: dict[str, float] = {}
        self._started_us = clock.now_us()

    def run(self, batch: DataFrame, batch_id: int) -> None:
        """Takes in a micro-batch, and moves the clocks of its streams and of the queries that read them."""
        session = batch.sparkSession
        set_epoch_conf(session)
        before = self._log.latest() or NOTHING
        if before.batch >= batch_id:
            # The epoch is committed, but the process ended before Spark had noted it. It stays as it is: it may
            # have readers.
            self._after_commit(before)
            return
        self._forget_failed()
        began = self._began()
        with self._phase("arrivals"):
            files = files_of_epoch(
                self._folder / "checkpoint", self._pushed, self._streams, batch_id, began.now_us
            )
        while True:
            try:
                self._epoch(session, before, self._arrivals(batch, files), batch_id, began, "rows")
                return
            except SPARK_ERRORS as error:
                readable = files.without_unreadable(session, self._streams, error)
                if readable is None:
                    raise
                files = readable

    def catch_up(self, session: SparkSession) -> None:
        """Moves every clock to the last tuple's time, when the sources have nothing more to bring.

        An epoch on its own cannot: the next tuple may have the same time, and it must not come late.
        """
        self._without_rows(session, "end")

    def beat(self, session: SparkSession) -> None:
        """Moves clocks though nothing has come: answers expire in time, and nobody waits for silent streams."""
        self._without_rows(session, "silence")

    def _without_rows(self, session: SparkSession, occasion: Occasion) -> None:
        before = self._log.latest() or NOTHING
        self._epoch(session, before, Arrivals(self._streams), before.batch, self._began(), occasion)

    def _epoch(
        self,
        session: SparkSession,
        before: EpochRecord,
        arrivals: Arrivals,
        batch_id: int,
        began: _Began,
        occasion: Occasion,
    ) -> None:
        workload = self._workload(before)
        rule = self._rule(before, workload, began.now_us, occasion)
        rule = replace(rule, found=_found(arrivals.bad_files))
        if occasion != "rows" and rule.moved(()) is None:
            return
        self._begin_attempt(rule.epoch)
        with self._phase("plan"):
            shipped = self._broadcasts.shipped(session.sparkContext, workload.queries)
            plan = JobPlan(shipped, rule)
        messages = self._tasks(session, workload, plan, arrivals, rule, before)
        bad = [*arrivals.bad_files, *bad_files_of_tasks(messages, self._streams)]
        measured = [Measured(**m.content) for m in messages if m.kind == "measured" and m.shard == 0]
        moved = rule.moved(measured)
        if moved is None:
            if occasion == "rows":
                self._log.skip(batch_id)
            return
        failed = {m.content["query"]: str(m.content["error"]) for m in messages if m.kind == FAILED_QUERY}
        if failed:
            # Before the commit: the epoch holds nothing of them, and a restart must know why.
            self._suspend(failed)
        with self._phase("history"):
            pins = self._keep(workload, rule, arrivals, {file.path for file in bad}, measured, messages)
            rejected = [RejectedPart(**m.content) for m in messages if m.kind == REJECTED]
            pins |= self._rejected.note(rule.epoch, self._writer, rejected, bad, before.pins)
        if occasion == "rows":
            pins["checkpoint"] = self._checkpoint.pin(batch_id)
            if self._copy is not None:
                pins[CHECKPOINT_COPY] = self._copy.keep(batch_id)
        pins = self._pins(before) | pins
        pins[PIN] = self._measure(workload, rule, moved, before, done_by_steps(messages, plan.readers))
        states = self._states_after(before, plan, messages)
        queries = _queries(workload, messages, moved, before, failed)
        self._commit(workload, rule, moved, batch_id, began, queries, pins, states)
        pushed = {stream.number for stream in self._streams if stream.source.kind == "PUSH"}
        if self._copy is not None and CHECKPOINT_COPY in pins:
            self._copy.collect(pins[CHECKPOINT_COPY])
        self._pushed.remove(
            file.path for stream, files in arrivals.files.items() if stream in pushed for file in files
        )

    def _begin_attempt(self, epoch: int) -> None:
        """Gives the attempt a name, so that nothing of an earlier one is taken for its own; removes what one that
        failed here has left."""
        if self._writer:
            self._rejected.forget_attempt(self._streams, epoch, self._writer)
        self._writer = uuid4().hex[:8]

    def _began(self) -> _Began:
        return _Began(self._clock.elapsed(), self._clock.now_us())

    def _arrivals(self, batch: DataFrame, files: EpochFiles) -> Arrivals:
        batches = [files.rows(batch.sparkSession, self._streams)]
        if not all(map(brings_files, self._streams)):
            batches.append(batch)
        return Arrivals(
            self._streams,
            files.by_tasks,
            files.arrival_us,
            [frame for frame in batches if frame is not None],
            are_history=frozenset(s.number for s in self._streams if files.can_be_history(s))
            if isinstance(self._home, Path)
            else frozenset(),
            bad_files=files.bad,
        )

    def _rule(self, before: EpochRecord, workload: Workload, now_us: int, occasion: Occasion) -> ClockRule:
        epoch = before.epoch + 1
        return ClockRule(
            epoch,
            self._streams,
            before.streams,
            {query.id: self._position(query, before) for query in workload.queries},
            now_us=now_us,
            started_us=self._started_us,
            idle_after_us=workload.idle_after_us,
            occasion=occasion,
        )

    def _position(self, query: RunningQuery, before: EpochRecord) -> Position:
        streams = frozenset(self._numbers[name] for name in query.plan.streams)
        begins = query.needs_history(before.epoch + 1)
        ran = before.queries.get(query.id)
        if ran is None or query.first_epoch > before.epoch:
            return Position(streams, before.clock_of(streams), -1, begins=begins)
        return Position(streams, ran.clock, ran.epoch, ran.spread, begins)

    def _tasks(
        self,
        session: SparkSession,
        workload: Workload,
        plan: JobPlan,
        arrivals: Arrivals,
        rule: ClockRule,
        before: EpochRecord,
    ) -> list[Message]:
        exchange = self._folder / "exchange"
        shutil.rmtree(exchange, ignore_errors=True)
        with self._phase("plan"):
            if before.epoch >= 0 and any(query.needs_history(rule.epoch) for query in workload.queries):
                past = {s.number: self._history.files(s.number, before.epoch) for s in self._streams}
                arrivals = replace(arrivals, history=past)
            kept = frozenset(
                stream
                for stream, retained in workload.retained.items()
                if not retained.is_nothing and stream not in arrivals.are_history
            )
            in_files = exchanges_files(workload.exchange, session)
            folders = Folders(exchange if in_files else None, self._home / "aside", self._history.folder)
            states = StatesBefore(self._states, before.states, before.tasks)
            plans = self._broadcasts.plans(session.sparkContext, plan.plans)
            tasks = epoch_job(session, plan, plans, arrivals, rule, folders, states, self._writer, kept)
        with self._phase("tasks"):
            messages = decoded([tasks.toArrow()])
        shutil.rmtree(exchange, ignore_errors=True)
        return messages

    def _keep(
        self,
        workload: Workload,
        rule: ClockRule,
        arrivals: Arrivals,
        bad_files: Set[str],
        measured: Sequence[Measured],
        messages: Sequence[Message],
    ) -> dict[str, str]:
        """Keeps the rows of the epoch as history; gives what its record must pin."""
        pins: dict[str, str] = {}
        for stream in self._streams:
            mine = [found for found in measured if found.stream == stream.number and found.max_ts is not None]
            retained = workload.retained.get(stream.number, Retained())
            rows = sum(found.rows - found.bad for found in mine)
            bounds = [t for found in mine for t in (found.min_ts, found.max_ts) if t is not None]
            if not rows:
                continue
            since, writer = rule.since(stream.number), self._writer
            size = {"rows": rows, "max_ts": max(bounds)}
            if stream.number in arrivals.are_history and not retained.is_nothing:
                files = arrivals.files[stream.number]
                paths = [file.path for file in files if str(file.path) not in bad_files]
                latest = latest_time(stream, rule.now_us)
                size |= {"min_ts": min(bounds), "latest": latest}
                pins |= self._history.adopt(stream, rule.epoch, paths, **size, since=since, writer=writer)
            else:
                kept = [m.content for m in messages if m.kind == "kept"]
                written = [Part(**content["part"]) for content in kept if content["stream"] == stream.number]
                written.sort(key=lambda part: part.name)
                pins |= self._history.note(stream, rule.epoch, written, **size, since=since, writer=writer)
        return pins

    def _pins(self, before: EpochRecord) -> dict[str, str]:
        """What the epoch pins of what was there before."""
        kept = {of(stream.number) for stream in self._streams for of in (pin_of, pin_of_rejected)}
        kept |= {"checkpoint", CHECKPOINT_COPY}
        return {name: pin for name, pin in before.pins.items() if name in kept}

    def _states_after(self, before: EpochRecord, plan: JobPlan, messages: Sequence[Message]) -> _States:
        """The indexes that tasks wrote, and of the other tasks those from before."""
        tasks = {pin_of_task(level, task) for level in range(plan.levels) for task in range(plan.tasks)}
        saved = [message.content for message in messages if message.kind == STATES]
        pins = {name: pin for name, pin in before.states.items() if name in tasks}
        pins |= {content["task"]: content["pin"] for content in saved}
        released = {name for content in saved for name in content["released"]}
        states = EpochStates(self._states, before.states, before.tasks)
        for gone in before.states.keys() - tasks:
            index = states.index(*map(int, gone.split("/")))
            assert index is not None
            released |= index.objects
        return _States(pins, plan.tasks, sorted(released), before.released)

    def _measure(
        self,
        workload: Workload,
        rule: ClockRule,
        moved: Moved,
        before: EpochRecord,
        done: Mapping[StepPlace, Measures],
    ) -> str:
        """Keeps what the steps did; gives the pin of the file. Steps of queries that are gone are left out."""
        there = {query.id for query in workload.queries}
        known = {
            place: measures
            for place, measures in self._known_measures(before.pins.get(PIN)).items()
            if place.query in there
        }
        seconds = {
            query: 0.0 if span.before < 0 else (span.clock - span.since) / 1e6
            for query, span in moved.spans.items()
        }
        found = measured_after(known, rule.epoch, seconds, done)
        self._measured = self._measures.write(rule.epoch, found, self._writer), found
        return self._measured[0]

    def _known_measures(self, pin: str | None) -> Mapping[StepPlace, StepMeasures]:
        if self._measured[0] == pin:
            return self._measured[1]
        return self._measures.known(pin)

    def _commit(
        self,
        workload: Workload,
        rule: ClockRule,
        moved: Moved,
        batch_id: int,
        began: _Began,
        queries: dict[int, QueryProgress],
        pins: dict[str, str],
        states: _States,
    ) -> None:
        record = EpochRecord(
            epoch=rule.epoch,
            batch=batch_id,
            rows=moved.rows,
            seconds=self._clock.elapsed() - began.elapsed,
            finished_us=self._clock.now_us(),
            phases=self._phases,
            streams=moved.streams,
            queries=queries,
            missing={query: dict(gaps) for query, gaps in workload.missing.items()},
            pins=pins,
            states=states.pins,
            tasks=states.tasks,
            released=states.released,
            released_before=states.released_before,
        )
        reach("before commit")
        self._log.commit(record)
        reach("after commit")
        self._phases = {}
        self._writer = ""
        with self._phase("collect"):
            self._collect(workload, rule, moved)
        self._after_commit(record)

    def _collect(self, workload: Workload, rule: ClockRule, moved: Moved) -> None:
        """Removes what nobody may read any more."""
        oldest = self._log.holds.release_before(rule.epoch - workload.retain_epochs)
        self._collector.collect(oldest, max(oldest, rule.epoch - _STATE_EPOCHS))
        self._measures.collect(rule.epoch)
        for stream in self._streams:
            retained = workload.retained.get(stream.number, Retained())
            clock = _slowest(stream, rule, moved)
            self._history.collect(
                stream,
                rule.epoch,
                oldest_ts=retained.oldest_ts(clock),
                retain_epochs=rule.epoch - oldest,
                keep_rows=retained.rows,
                clock=clock,
                writer=uuid4().hex[:8],
            )

    def _forget_failed(self) -> None:
        """Phases of an epoch that came to nothing do not count to the one after it."""
        self._phases = {name: seconds for name, seconds in self._phases.items() if name == "collect"}

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Measures a phase of the epoch; what comes after the commit counts to the next."""
        started = self._clock.elapsed()
        yield
        self._phases[name] = self._phases.get(name, 0.0) + self._clock.elapsed() - started


def _found(bad_files: Sequence[BadFile]) -> tuple[Measured, ...]:
    return tuple(Measured(file.stream, bad_files=1) for file in bad_files)


def _slowest(stream: Stream, rule: ClockRule, moved: Moved) -> int:
    """The clock of the stream, or of the slowest query over it: its windows still hold what others have let go."""
    clocks = (moved.clocks[query] for query, read in rule.queries.items() if stream.number in read.streams)
    return min((clock for clock in clocks if clock > BEGINNING), default=moved.streams[stream.number].clock)


def _queries(
    workload: Workload,
    messages: Sequence[Message],
    moved: Moved,
    before: EpochRecord,
    failed: Container[int],
) -> dict[int, QueryProgress]:
    """Where each query stands after the epoch; those that failed in it stand nowhere."""
    done = _done(messages, moved, {query.id: query.shards for query in workload.queries})
    return {query: done.get(query) or before.queries[query] for query in moved.clocks if query not in failed}


def _done(messages: Sequence[Message], moved: Moved, spread: Mapping[int, int]) -> dict[int, QueryProgress]:
    """What the epoch did to each query that it ran, over all its stages and shards."""
    progress: dict[int, QueryProgress] = {}
    reports = [Report(**message.content) for message in messages if message.kind == "report"]
    last: dict[int, int] = {}
    for report in reports:
        last[report.query] = max(report.stage, last.get(report.query, 0))
    for report in reports:
        so_far = progress.get(report.query) or _begun(moved.spans[report.query], spread[report.query])
        is_answer = report.stage == last[report.query]
        progress[report.query] = replace(
            so_far,
            shards=so_far.shards + is_answer,
            changes=so_far.changes + report.changes * is_answer,
            bytes=so_far.bytes + report.bytes,
            segments=so_far.segments + report.segments,
        )
    return progress


def _begun(span: Span, spread: int) -> QueryProgress:
    return QueryProgress(
        0,
        0,
        0,
        0,
        epoch=span.epoch,
        before=span.before,
        since=span.since,
        clock=span.clock,
        spread=spread,
        spread_before=span.spread,
    )
