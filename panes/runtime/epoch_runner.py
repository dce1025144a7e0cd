"""One epoch: from the batch that the sources brought to committed answers.

    arrivals  which files this epoch has, and what of the past new queries need
    tables    what was changed in tables since the last epoch
    tasks     one job that reads the rows once, finds the clock, and advances every query on every shard
    history   the rows stay readable for queries that come later
    commit    one file, by rename; from then on readers see this epoch
    collect   files that no reader can need any more are removed

Epochs have numbers of their own: batches are numbered apart, and only epochs that bring rows have one. Whatever
happens before the commit leaves the epoch before it as it was. An epoch that failed is done again, from the same
batch, and writes everything under other names.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple
from uuid import uuid4

from panes.clock import Clock
from panes.crash_points import reach
from panes.history.query_clocks import KnownClocks
from panes.ingest.bad_files import BadFile
from panes.ingest.rejected_rows import REJECTED, RejectedPart
from panes.language.statements import CreateTable
from panes.plan.stream import Stream
from panes.runtime.arrivals import Arrivals, Folders, TableArrivals
from panes.runtime.beside_refreshes import beside_refreshes
from panes.runtime.done_by_steps import done_by_steps
from panes.runtime.engine import Batch, Cluster
from panes.runtime.epoch_job import make_job
from panes.runtime.epoch_stores import EpochStores
from panes.runtime.job_plan import JobPlan
from panes.runtime.operator_task import StatesBefore
from panes.runtime.queries_after import queries_after
from panes.runtime.shed_after import shed_after
from panes.runtime.unseen_files import bad_files_of_tasks
from panes.runtime.workload import Workload
from panes.stages.clock_rule import ClockRule, Measured, Occasion
from panes.stages.exchange import FAILED_QUERY, Message
from panes.stages.position_of import position_of
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import NOTHING, EpochRecord
from panes.tables.table_manifest import PIN as TABLES
from panes.tables.table_store import TABLES_FOLDER
from panes.tables.version_log import AppliedVersions, Taken


class _Began(NamedTuple):
    """When an epoch began: to measure it, and as wall time."""

    elapsed: float
    now_us: int


class EpochRunner:
    """Runs epochs over all base streams; the engine calls `run` with each batch that the sources bring."""

    def __init__(
        self,
        stores: EpochStores,
        streams: Sequence[Stream],
        workload: Callable[[EpochRecord], Workload],
        clock: Clock,
        after_commit: Callable[[EpochRecord], None],
        suspend: Callable[[Mapping[int, str]], None],
    ) -> None:
        self._stores = stores
        self._begun: tuple[int, Mapping[int, int]] | None = None
        """A batch that several epochs take in, and how many files of each stream are in."""
        self._log = stores.log
        self._clocks = KnownClocks(stores.log)
        self.streams = streams
        self._numbers = {stream.name: stream.number for stream in streams}
        self._workload = workload
        self._writer = ""
        """Tells the attempt at an epoch that is under way, or that failed, from all others; empty when there is
        none."""
        self._clock = clock
        self._after_commit = after_commit
        self._suspend = suspend
        self._phases: dict[str, float] = {}
        self._started_us = clock.now_us()

    def run(
        self, cluster: Cluster, number: int, read: Callable[[int, Mapping[int, int] | None], Batch]
    ) -> bool:
        """Takes in the batch of that number and moves the clocks of its streams and of the queries over them.

        `read` returns the batch; it is given the wall time of the epoch and, where earlier epochs have taken in a
        part of the batch, how many files of each stream are in. Returns whether all of the batch is in: of a
        stream whose files are taken in by name, an epoch takes as many as it may, and the caller calls again for
        the rest.
        """
        before = self._log.latest() or NOTHING
        if before.batch >= number:
            # The epoch is committed, but the process ended before the engine had noted it. It may have readers, so
            # it stays as it is.
            self._after_commit(before)
            return True
        if before.begun_batch == number and (self._begun is None or self._begun[0] != number):
            self._begun = number, before.begun_files
        begun = self._begun[1] if self._begun is not None and self._begun[0] == number else None
        self._forget_failed()
        began = self._began()
        with self._phase("arrivals"):
            batch = read(began.now_us, begun)
        while True:
            try:
                arrivals = batch.arrivals(self.streams, keeps_files=self._stores.keeps_files)
                self._epoch(cluster, before, arrivals, number, began, "rows", batch)
                self._begun = None if batch.is_last else (number, batch.begun)
                return batch.is_last
            except Exception as error:
                readable = batch.without_unreadable(self.streams, error)
                if readable is None:
                    raise
                batch = readable

    def catch_up(self, cluster: Cluster) -> None:
        """Moves every clock to the last tuple's time, when the sources have nothing more to bring.

        An epoch on its own cannot: the next tuple may have the same time, and it must not come late.
        """
        self._without_rows(cluster, "end")

    def beat(self, cluster: Cluster) -> None:
        """Moves clocks though nothing has come: answers expire in time, and nobody waits for silent streams."""
        self._without_rows(cluster, "silence")

    def _without_rows(self, cluster: Cluster, occasion: Occasion) -> None:
        before = self._log.latest() or NOTHING
        self._epoch(cluster, before, Arrivals(self.streams), before.batch, self._began(), occasion)

    def _epoch(
        self,
        cluster: Cluster,
        before: EpochRecord,
        arrivals: Arrivals,
        batch_id: int,
        began: _Began,
        occasion: Occasion,
        batch: Batch | None = None,
    ) -> None:
        stores = self._stores
        is_whole = batch is None or batch.is_last
        workload = self._workload(before)
        taken = stores.take_changes(before)
        rule = self._rule(before, workload, began.now_us, occasion, taken)
        rule = replace(rule, found=_found(arrivals.bad_files))
        if occasion != "rows" and rule.moved(()) is None:
            return
        self._begin_attempt(rule.epoch, workload.tables)
        with self._phase("tables"):
            applied = stores.apply_changes(
                taken, workload.tables, self.streams, workload.retained, rule, before, self._writer
            )
            arrivals = replace(arrivals, tables=_table_arrivals(workload.tables, applied))
        with self._phase("plan"):
            plan = JobPlan(
                cluster.with_indexes(workload.queries),
                rule,
                self._clocks.of,
                workload.boxes,
                may_come=arrivals.may_come,
                tasks_before=before.tasks,
            )
            plan.sketched = stores.epoch_facts.sketched(plan)
        needs_tasks = occasion == "rows" or plan.stages or not _are_the_same(workload.queries, before)
        messages = self._tasks(cluster, workload, plan, arrivals, rule, before) if needs_tasks else []
        bad = [*arrivals.bad_files, *bad_files_of_tasks(messages, self.streams)]
        measured = [Measured(**m.content) for m in messages if m.kind == "measured" and m.shard == 0]
        moved = rule.moved(measured)
        if moved is None:
            if occasion == "rows" and is_whole:
                self._log.skip(batch_id)
            return
        failed = {m.content["query"]: str(m.content["error"]) for m in messages if m.kind == FAILED_QUERY}
        if failed:
            # Before the commit: the epoch holds nothing of them, and a restart must know why.
            self._suspend(failed)
        pins = stores.pins_kept(self.streams, before)
        if taken is not None:
            pins[TABLES] = str(applied.manifest.head)
        with self._phase("history"):
            unread = {file.path for file in bad}
            pins |= stores.keep_rows(
                self.streams, workload.retained, rule, arrivals, unread, measured, messages, self._writer
            )
            rejected = [RejectedPart(**m.content) for m in messages if m.kind == REJECTED]
            pins |= stores.rejected.note(rule.epoch, self._writer, rejected, bad, before.pins)
        if occasion == "rows":
            pins |= stores.pin_batch(batch_id, is_whole=is_whole)
        done = done_by_steps(messages, plan.readers)
        pins |= stores.measure(
            workload.queries,
            self.streams,
            rule,
            moved,
            before,
            [*measured, *rule.found],
            messages,
            done,
            self._writer,
        )
        finished_us = self._clock.now_us()
        seconds = self._clock.elapsed() - began.elapsed
        record = EpochRecord(
            epoch=rule.epoch,
            batch=batch_id if is_whole else before.batch,
            rows=moved.rows,
            seconds=seconds,
            finished_us=finished_us,
            phases=self._phases,
            cpu_seconds=sum(measures.cpu_us for measures in done.values()) / 1e6,
            streams=moved.streams,
            queries=queries_after(workload.queries, messages, moved, before, failed, finished_us),
            missing={query: dict(gaps) for query, gaps in workload.missing.items()},
            shed=shed_after(workload.queries, self._numbers, before, done, failed),
            boxes=workload.boxes,
            beside_refreshes_s=beside_refreshes(workload.queries, messages, before, seconds),
            pins=pins,
            begun_batch=before.begun_batch if batch is None else batch_id,
            begun_files=dict(before.begun_files if batch is None else batch.begun),
            **stores.states_after(before, plan.all_levels, plan.tasks, messages)._asdict(),
        )
        self._commit(record)
        with self._phase("collect"):
            stores.collect(self.streams, workload.retained, workload.retain_epochs, rule, moved, record)
        self._after_commit(record)
        stores.remove_pushed(self.streams, arrivals)
        if stores.tables is not None and taken is not None:
            stores.tables.committed(record)

    def _begin_attempt(self, epoch: int, tables: Sequence[CreateTable]) -> None:
        """Gives the attempt a name, so that nothing of an earlier one is taken for its own; removes what one that
        failed here has left."""
        if self._writer:
            self._stores.forget_attempt(self.streams, tables, epoch, self._writer)
        self._writer = uuid4().hex[:8]

    def _began(self) -> _Began:
        return _Began(self._clock.elapsed(), self._clock.now_us())

    def _rule(
        self,
        before: EpochRecord,
        workload: Workload,
        now_us: int,
        occasion: Occasion,
        taken: Taken | None,
    ) -> ClockRule:
        epoch = before.epoch + 1
        changed = {
            table.name for table in workload.tables if taken is not None and table.number in taken.changes
        }
        # Of thousands of queries most read the same streams.
        read = {
            names: frozenset(self._numbers[name] for name in names)
            for names in {query.plan.streams for query in workload.queries}
        }
        return ClockRule(
            epoch,
            self.streams,
            before.streams,
            {
                query.id: position_of(query, read[query.plan.streams], before, changed)
                for query in workload.queries
            },
            now_us=now_us,
            started_us=self._started_us,
            idle_after_us=workload.idle_after_us,
            occasion=occasion,
            applies_changes=taken is not None,
            effective=self._stores.effective(taken, before),
        )

    def _tasks(
        self,
        cluster: Cluster,
        workload: Workload,
        plan: JobPlan,
        arrivals: Arrivals,
        rule: ClockRule,
        before: EpochRecord,
    ) -> list[Message]:
        stores = self._stores
        exchange = stores.folder / "exchange"
        shutil.rmtree(exchange, ignore_errors=True)
        with self._phase("plan"):
            if before.epoch >= 0 and any(query.needs_history(rule.epoch) for query in workload.queries):
                past = {s.number: stores.history.files(s.number, before.epoch) for s in self.streams}
                arrivals = replace(arrivals, history=past)
            kept = frozenset(
                stream
                for stream, retained in workload.retained.items()
                if not retained.is_nothing and stream not in arrivals.are_history
            )
            in_files = _exchanges_files(workload.exchange, cluster)
            folders = Folders(
                exchange if in_files else None,
                stores.home / "aside",
                stores.history.folder,
                stores.home / TABLES_FOLDER,
            )
            states = StatesBefore(stores.states, before.states, before.tasks)
            plans = cluster.sent(plan.plans)
            job = make_job(plan, plans, arrivals, rule, folders, states, self._writer, kept, cluster.cores)
        with self._phase("tasks"):
            messages = cluster.run(job)
        shutil.rmtree(exchange, ignore_errors=True)
        return messages

    def _commit(self, record: EpochRecord) -> None:
        reach("before commit")
        self._log.commit(record)
        reach("after commit")
        self._phases = {}
        self._writer = ""

    def _forget_failed(self) -> None:
        """Phases of an epoch that came to nothing do not count to the one after it."""
        self._phases = {name: seconds for name, seconds in self._phases.items() if name == "collect"}

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Measures a phase of the epoch; what comes after the commit counts to the next."""
        started = self._clock.elapsed()
        yield
        self._phases[name] = self._phases.get(name, 0.0) + self._clock.elapsed() - started


def _are_the_same(queries: Sequence[RunningQuery], before: EpochRecord) -> bool:
    """Whether the epoch before has the states of the same queries: else tasks forget those that are gone."""
    return {query.id for query in queries} == {
        progress.answer.running for progress in before.queries.values()
    }


def _found(bad_files: Sequence[BadFile]) -> tuple[Measured, ...]:
    return tuple(Measured(file.stream, bad_files=1) for file in bad_files)


def _table_arrivals(tables: Sequence[CreateTable], applied: AppliedVersions) -> dict[str, TableArrivals]:
    return {
        table.name: TableArrivals(
            table.columns, applied.manifest.of(table.number).segments, applied.new.get(table.number)
        )
        for table in tables
    }


def _exchanges_files(setting: str, cluster: Cluster) -> bool:
    """Whether tasks hand tables to each other in files: with 'auto', when all run on the driver's machine."""
    return cluster.is_one_machine if setting == "auto" else setting == "files"
