"""Operator tasks: after a shuffle, one task per shard runs the operators of every query over their state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import thread_time_ns

import pyarrow as pa

from panes.answers.answer_store import changes_chunk
from panes.answers.indexed_answer import answer_store
from panes.answers.output_delay import OutputDelay, output_delay
from panes.config import INPUT_TRIGGERED, TIME_MESSAGE
from panes.delta.delta import BEGINNING, FOREVER, Delta
from panes.operators.dataflow import Dataflow, measured_rows
from panes.operators.input_triggered import InputTriggered
from panes.operators.measures import STORE, Measures, as_list
from panes.operators.time_messages import TimeMessages
from panes.runtime.attempt import Attempt
from panes.runtime.task_plans import PlanValues, SentPlans, StageTask
from panes.sharing.refreshes import Probes
from panes.sharing.store import Arrivals, RefreshingStore
from panes.stages.clock_rule import ClockRule, Measured, Span
from panes.stages.exchange import (
    FAILED_INPUT,
    FAILED_QUERY,
    PART,
    STATES,
    Exchange,
    Message,
    decoded,
    encoded,
    read_parts,
)
from panes.stages.fragment_run import FragmentRun
from panes.stages.query_failure import QueryFailure, blamed_on_the_query
from panes.stages.redistribute import Redistribution
from panes.stages.sketches import Sketches
from panes.stages.store_kinds import StoreKind, store_kind
from panes.state.buffers.base import next_expiry
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_states import EpochStates
from panes.state.storage.files import flushed_together
from panes.state.storage.index import pin_of_task
from panes.state.storage.locations import Location
from panes.state.storage.manifest import ANSWER, CHANGES, COUNTED, FOR_READERS, Manifest
from panes.state.storage.records import missing
from panes.state.storage.task_states import TaskStates

InputSteps = dict[int, dict[str, list[int]]]

_KINDS: Mapping[str, type[Dataflow]] = {INPUT_TRIGGERED: InputTriggered, TIME_MESSAGE: TimeMessages}
"""The dataflows in which time reaches operators in a way of their own, by the value of `expiration`."""
_NO_DELAY = OutputDelay()
_FOR_ALL = ("measured", FAILED_INPUT)
"""The messages that every task gets from every task of the first level."""


@dataclass(frozen=True)
class Report:
    """What a stage did on a shard."""

    query: int
    stage: int
    shard: int
    changes: int
    bytes: int
    segments: int
    steps: Mapping[str, list[int]] = field(default_factory=dict)
    """What each step did, by name; the answer is one of them."""
    inputs: InputSteps = field(default_factory=dict)
    """What the steps before the next shuffle did, by the number of the input."""
    next_change: int | None = None
    """The first instant at which something happens here though nothing comes; None when nobody has looked."""
    delay: OutputDelay = _NO_DELAY
    """Of the answer, if this is its stage."""
    probed: Probes | None = None
    """What refreshing stored answers took."""
    told: tuple[int, int] | None = None
    """The clocks of the answer before and after the span, where they may be others than those of the span."""


@dataclass(frozen=True)
class StatesBefore:
    """Where the states of the epoch before are: the folder of all states, and what its record has of them."""

    folder: Location
    pins: Mapping[str, str] = field(default_factory=dict)
    tasks: int = 1

    def opened(self) -> EpochStates:
        # A task needs most of what one of the epoch before has written.
        return EpochStates(self.folder, self.pins, self.tasks, whole=True)


@dataclass(frozen=True)
class OperatorTask:
    """What the tasks of one level do for all queries; it is shipped to the workers."""

    level: int
    plans: SentPlans
    values: PlanValues
    rule: ClockRule
    exchange: Path | None
    """The folder of the exchange; None when tables go through Spark's shuffle."""
    states: StatesBefore
    writer: str
    """What tells this attempt at the epoch from all others."""
    asleep: frozenset[int]
    """The queries that are not among the plans, because nothing happens to them: their states stay."""
    is_last: bool
    """Whether the driver is next to hear of this level."""

    def run(self, attempt: Attempt, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = decoded(batches)
        writer = f"{self.writer}_{attempt.number}"
        # What a task writes is not read before all tasks have ended, so it waits for the disk once.
        with flushed_together():
            sent = [*self._passed_on(messages), *self._advanced(attempt.task, writer, messages)]
        yield from encoded(sent)

    def _passed_on(self, messages: Iterable[Message]) -> Iterator[Message]:
        """What is for later levels, or for the driver, who hears but once what all tasks have heard."""
        for message in messages:
            if message.kind == PART:
                is_for_others = self._level_of(message) > self.level
            elif message.kind in _FOR_ALL:
                is_for_others = not self.is_last or message.shard == 0
            else:
                is_for_others = True
            if is_for_others:
                yield message

    def _level_of(self, part: Message) -> int:
        """The level on which a part is read."""
        number: int = part.content["input"]
        return self.plans.value.input_levels[number]

    def _stages(self) -> Iterator[StageTask]:
        for stage in self.plans.value.stages:
            if stage.query.plan.levels[stage.stage] == self.level:
                yield self.values.with_members(stage)

    def _advanced(self, task: int, writer: str, messages: list[Message]) -> Iterator[Message]:
        moved = self.rule.moved(Measured(**m.content) for m in messages if m.kind == "measured")
        if moved is None:
            return
        failed = {m.content["input"]: m.content["error"] for m in messages if m.kind == FAILED_INPUT}
        arrivals = read_parts(m for m in messages if m.kind == PART and self._level_of(m) == self.level)
        exchange = Exchange(self.exchange, f"{self.level + 1}-{task:06d}", writer)
        sketches = Sketches()
        before = self.states.opened()
        states = TaskStates(before, self.rule.epoch, self.level, task, writer)
        states.keep_all(self.asleep)
        for stage in self._stages():
            query = stage.query
            span = moved.spans.get(query.id)
            # A query that is not run stays spread as it is.
            shard = stage.shard_of(task, self.rule.queries[query.id].spread if span is None else query.shards)
            if shard is None:
                continue
            try:
                if span is None:
                    with blamed_on_the_query():
                        states.keep(stage.place, shard)
                    continue
                for number in stage.inputs:
                    if number in failed:
                        raise QueryFailure(failed[number])
                with blamed_on_the_query():
                    work = _Shard(stage, shard, span, before, states)
                    report = self._run(work, arrivals, exchange, sketches)
            except QueryFailure as failure:
                yield Message(task, FAILED_QUERY, {"query": stage.query.id, "error": str(failure)})
            else:
                yield Message(task, "report", asdict(report))
        yield from sketches.messages()
        yield from exchange.send()
        saved = states.finish()
        if saved is not None:
            content = {"task": pin_of_task(self.level, task), "pin": saved.pin, "released": saved.released}
            yield Message(task, STATES, content)

    def _run(
        self, work: _Shard, arrivals: Mapping[int, pa.Table], exchange: Exchange, sketches: Sketches
    ) -> Report:
        stage = work.task
        kind = store_kind(stage.query.plan.stages[stage.stage].plan)
        if kind is not None:
            return _advance_store(work, kind, arrivals)
        report, delta = _advance(work, arrivals)
        return replace(report, inputs=self._hand_on(stage, delta, exchange, sketches))

    def _hand_on(self, stage: StageTask, delta: Delta, exchange: Exchange, sketches: Sketches) -> InputSteps:
        """Routes the delta of a stage to those that read it; gives what the steps before that shuffle did."""
        measured: InputSteps = {}
        if not delta.rows:
            return measured
        run = FragmentRun(delta.table)
        for number in stage.outputs:
            route = self.plans.value.inputs[number]
            rows, steps = run.input(route.source, self.values.since_of(number))
            measured[number] = {name: as_list(measures) for name, measures in steps.items()}
            hashes = None
            if number in self.values.sketched and rows.num_rows:
                hashes = route.hashes(rows)
                sketches.add(number, hashes)
            for shard, mine in route.split(rows, hashes):
                exchange.add(number, shard, mine)
        return measured


@dataclass(frozen=True)
class _Shard:
    """A stage of a query on one shard, to be taken through a span."""

    task: StageTask
    shard: int
    span: Span
    before: EpochStates
    states: TaskStates

    @property
    def is_first(self) -> bool:
        return self.span.epoch == self.task.query.first_epoch

    @property
    def is_moved(self) -> bool:
        """Whether its state comes from another number of shards."""
        is_spread_anew = self.span.spread != self.task.query.shards
        return not self.is_first and self.task.place.is_sharded and is_spread_anew

    def manifest(self) -> Manifest | None:
        """What was known in its place before the span; None in its first epoch, or where no shard was before."""
        is_new = self.is_first or self.shard >= self.task.place.shards(self.span.spread)
        return None if is_new else self._manifest(self.shard)

    def known(self, before: Manifest | None) -> Mapping[str, Sequence[Chunk]]:
        """What it begins the span with, by buffer; `before` is the manifest of its place."""
        if self.is_moved:
            return self._redistributed()
        return {} if before is None else self._chunks(before)

    def _redistributed(self) -> Mapping[str, Sequence[Chunk]]:
        """Its part of what all shards knew before the span, when there was another number of them."""
        query = self.task.query
        moving = Redistribution(query.plan.stages[self.task.stage], self.span.spread, query.shards)
        states = {shard: self._chunks(self._manifest(shard)) for shard in moving.sources(self.shard)}
        return moving.chunks(self.shard, states)

    def _manifest(self, shard: int) -> Manifest:
        found = self.before.load(self.task.place, shard)
        if found is None or found.epoch != self.span.before:
            place = self.task.place.shard(shard)
            raise missing(f"the manifest of {place} at epoch {self.span.before}")
        return found

    def _chunks(self, manifest: Manifest) -> dict[str, list[Chunk]]:
        return {name: self.before.chunks(manifest, name) for name in manifest.buffers if name != CHANGES}

    def report(
        self, changes: int, before: Manifest | None, after: Manifest, steps: Mapping[str, Measures]
    ) -> Report:
        found = _with_bytes(steps, before, after)
        return Report(
            self.task.query.id,
            self.task.stage,
            self.shard,
            changes,
            after.size,
            len(after.entries),
            {name: as_list(measures) for name, measures in found.items()},
        )


def _advance(work: _Shard, arrivals: Mapping[int, pa.Table]) -> tuple[Report, Delta]:
    """Takes one stage on one shard through the span, and stores what it then knows."""
    task, span = work.task, work.span
    query, stage = task.query, task.query.plan.stages[task.stage]
    # In its first epoch a query sees what is there of all times; it has no answer to go on from.
    since = BEGINNING if work.is_first else span.since
    assert stage.fragment is not None
    dataflow = _KINDS.get(query.expiration, Dataflow)(stage.fragment)
    before = work.manifest()
    known = work.known(before)
    for name, buffer in dataflow.buffers.items():
        buffer.restore(known.get(name, ()))
        if work.is_moved:
            buffer.compact()
    mine = {
        source.name: arrivals[number]
        for source, number in zip(stage.inputs, task.inputs, strict=True)
        if number in arrivals
    }
    told_to = dataflow.told_to(since)
    delta = dataflow.process(mine, since, span.clock)
    steps = dict(dataflow.measures)
    chunks = {name: buffer.chunks for name, buffer in dataflow.buffers.items()}
    delay = OutputDelay()
    if task.stage == query.plan.last:
        began = thread_time_ns()
        of_answer = known.get(ANSWER, ())
        if not work.is_first:
            delay = output_delay(delta, of_answer, told_to, span.clock)
        answer = answer_store(query.index, of_answer)
        if work.is_moved:
            answer.gather(since)
        answer.apply(delta)
        chunks |= {ANSWER: answer.chunks, CHANGES: changes_chunk(delta)}
        of_rows = measured_rows(delta.rows, delta, query.plan.pattern, began)
        steps[ANSWER] = replace(of_rows, messages=dataflow.told_answer, touched=answer.touched)
    began = thread_time_ns()
    after = work.states.save(task.place.shard(work.shard), chunks, before)
    next_change = None
    if span.is_silent and span.clock > BEGINNING:
        # Where rows keep coming nobody sleeps, so nobody needs to look.
        next_change = dataflow.next_change(span.clock)
        if not query.is_input_triggered:
            next_change = min(next_change, next_expiry(chunks.get(ANSWER, ()), span.clock))
    came = sum(steps[step.name].rows_in for step in stage.fragment.steps if step.buffers)
    steps[STORE] = Measures(rows_in=came, cpu_us=(thread_time_ns() - began) / 1000, spans=1)
    report = work.report(delta.rows, before, after, steps)
    told = (told_to, delta.clock) if query.is_input_triggered else None
    return replace(report, next_change=next_change, delay=delay, told=told), delta


def _advance_store(work: _Shard, kind: StoreKind, arrivals: Mapping[int, pa.Table]) -> Report:
    """Takes what is kept for the queries of a group through the span: rows that came, and queries that came."""
    began = thread_time_ns()
    task, span, query = work.task, work.span, work.task.query
    stage = query.plan.stages[task.stage]
    assert query.members is not None
    before = work.manifest()
    store = kind.open(stage.plan, work.known(before))
    mine = {
        source.name: arrivals[number]
        for source, number in zip(stage.inputs, task.inputs, strict=True)
        if number in arrivals
    }
    store.advance(Arrivals(mine, query.members, span.since, span.clock, is_first=work.is_first))
    probed = None
    if query.members.refreshes is not None:
        assert isinstance(store, RefreshingStore), "only answers that are read from a synopsis are refreshed"
        probed = store.refresh(query.members.refreshes, span.clock)
    changes = sum(came.num_rows for came in mine.values())
    cpu_us = (thread_time_ns() - began) / 1000
    steps = {ANSWER: Measures(rows_in=changes, positive=changes, cpu_us=cpu_us, spans=1)}
    began = thread_time_ns()
    after = work.states.save(task.place.shard(work.shard), store.chunks, before)
    steps[STORE] = Measures(rows_in=changes, cpu_us=(thread_time_ns() - began) / 1000, spans=1)
    # Each query has a window of its own over what is kept, so as long as there is some, any instant may matter.
    next_change = None if store.rows else FOREVER
    return replace(work.report(changes, before, after, steps), next_change=next_change, probed=probed)


def _with_bytes(
    steps: Mapping[str, Measures], before: Manifest | None, after: Manifest
) -> dict[str, Measures]:
    """The measures with the rows and bytes of what each step keeps, and with what of it is new."""
    found = dict(steps)
    old = {entry.name for entry in before.entries} if before else set()
    for buffer, entries in after.buffers.items():
        name = ANSWER if buffer in FOR_READERS else buffer.partition(".")[0]
        written = sum(entry.bytes for entry in entries if entry.name not in old)
        held = sum(entry.bytes for entry in entries) if buffer != CHANGES else 0
        rows = sum(entry.rows for entry in entries) if buffer in COUNTED else 0
        found[name] += Measures(state_rows=rows, state_bytes=held, written_bytes=written)
    return found
