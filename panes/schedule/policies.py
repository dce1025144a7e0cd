"""The ways to schedule refreshes: what is one task, and which tasks may be refreshed together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from panes.schedule.hybrid_partition import hybrid_partition, sub_groups
from panes.schedule.member import Member
from panes.schedule.task import Task


@dataclass(frozen=True)
class Policy:
    tasks_of_group: Callable[[tuple[Member, ...]], list[Task]]
    is_eligible: Callable[[int, int], bool]
    """Whether a task with some d may be refreshed now, given the lowest d of all: the set V of the algorithms."""
    is_joint: bool = True
    """Whether tasks of one group that may be refreshed are refreshed together."""

    def tasks(self, members: Iterable[Member]) -> list[Task]:
        """The tasks of all members, by group."""
        groups: dict[Hashable, list[Member]] = {}
        for member in members:
            groups.setdefault(member.group, []).append(member)
        return [task for some in groups.values() for task in self.tasks_of_group(tuple(some))]

    def batches(self, tasks: Iterable[Task], ages: Mapping[int, int]) -> Iterator[tuple[Task, ...]]:
        """The tasks to refresh together, one batch after the other, until every answer is of the last update.

        The first one of a batch is the most urgent that is left, so none can wait for ever; of equally urgent ones
        it is that of the highest priority. `ages` are the updates since each query was refreshed.
        """
        until = {task: task.until_deadline(ages) for task in tasks if task.age(ages) > 0}
        ordered = sorted(until, key=lambda task: (until[task], -task.priority, task.first))
        left: dict[Hashable, dict[Task, int]] = {}
        for task in ordered:
            left.setdefault(task.group, {})[task] = until[task]
        for first in ordered:
            of_group = left[first.group]
            if first not in of_group:
                continue
            lowest = until[first]
            batch = tuple(
                task
                for task, its in (of_group.items() if self.is_joint else ((first, lowest),))
                if self.is_eligible(its, lowest)
            )
            for task in batch:
                del of_group[task]
            yield batch


def _each_query(members: tuple[Member, ...]) -> list[Task]:
    return [Task.of([member]) for member in members]


def _whole_group(members: tuple[Member, ...]) -> list[Task]:
    return [Task.of(members)]


def _each_period(members: tuple[Member, ...]) -> list[Task]:
    return [Task.of(sub.members) for sub in sub_groups(members)]


def _each_block(members: tuple[Member, ...]) -> list[Task]:
    found = hybrid_partition(sub_groups(members))
    return [Task.of(member for sub in block for member in sub.members) for block in found.blocks]


def _equally_urgent(until: int, lowest: int) -> bool:
    return until == lowest


def _equally_urgent_or_late(until: int, lowest: int) -> bool:
    return until < 0 if lowest < 0 else until == lowest


def _equally_urgent_late_or_pending(until: int, lowest: int) -> bool:
    return until <= 0 if lowest < 0 else until == lowest


POLICIES: Mapping[str, Policy] = {
    "edf": Policy(_each_query, _equally_urgent, is_joint=False),
    "aggressive": Policy(_whole_group, _equally_urgent),
    "conservative": Policy(_each_period, _equally_urgent),
    "hybrid": Policy(_each_block, _equally_urgent),
    "hybrid_late": Policy(_each_block, _equally_urgent_or_late),
    "hybrid_late_pending": Policy(_each_block, _equally_urgent_late_or_pending),
}
"""By the value of the setting `schedule`."""
