"""The tasks of an epoch: those that read rows, and on each level after a shuffle those that run operators.

`make_job` returns them as data. An engine runs them: Spark as one job, the local engine one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from panes.runtime.arrivals import Arrivals, Folders
from panes.runtime.ingest_task import BatchTask, FedFile, Feed, FilesTask, IngestContext, TableFeed
from panes.runtime.job_plan import JobPlan
from panes.runtime.operator_task import OperatorTask, StatesBefore
from panes.runtime.task_plans import SentPlans
from panes.stages.clock_rule import ClockRule

_ROWS_PER_TASK = 50_000
"""A task for fewer rows costs more than it saves."""


@dataclass(frozen=True)
class EpochJob:
    """The work of one epoch. Its levels run in order, each after all tasks of the level before have ended."""

    files: FilesTask
    """Reads files; its tasks are numbered from 0, and there may be none."""
    rows: BatchTask
    """Reads `batches`, which the engine has read from the sources."""
    batches: Sequence[Any]
    levels: Sequence[OperatorTask]
    tasks: int
    """The number of tasks on each level of operators. A message goes to the task that its `shard` names."""


def make_job(
    plan: JobPlan,
    plans: SentPlans,
    arrivals: Arrivals,
    rule: ClockRule,
    folders: Folders,
    states: StatesBefore,
    writer: str,
    writes_history: frozenset[int],
    cores: int,
) -> EpochJob:
    """Returns the tasks that advance all queries of the plan by one epoch, also on shards that get no rows.

    `plans` are those of the plan in the form in which tasks get them. `writer` tells this attempt at the epoch
    from all others. `writes_history` has the numbers of the streams whose rows tasks keep as history.
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
    feeds = {
        place: Feed(
            stream,
            plan.inputs_of(stream.name),
            writes_history=stream.number in writes_history,
            since=rule.since(stream.number),
        )
        for place, stream in enumerate(arrivals.streams)
        if stream.number not in arrivals.files
    }
    levels = [
        OperatorTask(
            level,
            plans,
            plan.values,
            plan.rule,
            folders.exchange,
            states,
            writer,
            plan.asleep,
            is_last=level == plan.levels - 1,
        )
        for level in range(plan.levels)
    ]
    return EpochJob(
        _files_task(context, plan, arrivals, rule, writes_history, cores),
        BatchTask(context, feeds),
        arrivals.batches,
        levels,
        plan.tasks,
    )


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
