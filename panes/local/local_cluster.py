"""Runs the tasks of an epoch one after another in the calling thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import pyarrow as pa
import pyarrow.compute as pc

from panes.runtime.attempt import Attempt
from panes.runtime.epoch_job import EpochJob
from panes.runtime.task_plans import TaskPlans
from panes.sharing.shared_indexes import Indexed, Slices
from panes.stages.exchange import BEGIN, Message, decoded, encoded
from panes.stages.running_query import RunningQuery


@dataclass(frozen=True)
class _InProcess:
    """Plans that tasks take as they are, because they run in the process of the driver."""

    value: TaskPlans


class LocalCluster:
    """Stands in for a cluster of one machine. The number of cores decides how the rows of files are split."""

    is_one_machine = True

    def __init__(self, cores: int = 2) -> None:
        self.cores = cores
        self._attempts = count()

    def with_indexes(self, queries: Sequence[RunningQuery]) -> list[RunningQuery]:
        """Returns the queries with the indexes that a broadcast would contain."""
        shipped: dict[Indexed, Indexed] = {}
        return [_shipped(query, shipped) for query in queries]

    def sent(self, plans: TaskPlans) -> _InProcess:
        return _InProcess(plans)

    def run(self, job: EpochJob) -> list[Message]:
        batches: list[pa.RecordBatch] = []
        for number in range(len(job.files.files)):
            batches += job.files.run(self._attempt(number), [pa.record_batch({"id": [number]})])
        for number, rows in enumerate(job.batches):
            batches += job.rows.run(self._attempt(number), rows)
        if not batches:
            batches = [*encoded(Message(task, BEGIN, {}) for task in range(job.tasks))]
        for level in job.levels:
            by_task = _routed(batches, job.tasks)
            batches = []
            for task, mine in enumerate(by_task):
                batches += level.run(self._attempt(task), mine)
        return decoded(batches)

    def _attempt(self, task: int) -> Attempt:
        return Attempt(task, next(self._attempts))


def _routed(batches: Iterable[pa.RecordBatch], tasks: int) -> list[list[pa.RecordBatch]]:
    """The messages for each task, in the order in which they were sent."""
    messages = pa.Table.from_batches(batches)
    return [messages.filter(pc.equal(messages["shard"], task)).to_batches() for task in range(tasks)]


def _shipped(query: RunningQuery, shipped: dict[Indexed, Indexed]) -> RunningQuery:
    """The query with indexes without what only the driver needs; queries share those that they shared before."""
    if query.members is None:
        return query

    def ship(slices: Slices) -> Slices:
        found = []
        for mine in slices:
            if isinstance(mine.index, Indexed):
                if mine.index not in shipped:
                    shipped[mine.index] = Indexed(mine.index.value.to_ship())
                mine = replace(mine, index=shipped[mine.index])
            found.append(mine)
        return tuple(found)

    fresh = query.members.fresh
    members = replace(
        query.members, all=ship(query.members.all), fresh=None if fresh is None else ship(fresh)
    )
    return replace(query, members=members)
