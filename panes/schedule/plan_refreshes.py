"""What to refresh in one epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from panes.schedule.member import Member, cost_of
from panes.schedule.policies import Policy
from panes.schedule.task import Task


@dataclass(frozen=True)
class Batch:
    """Members of one group that are refreshed together, for one slide."""

    members: tuple[Member, ...]
    cost: float

    @property
    def queries(self) -> tuple[int, ...]:
        return tuple(member.query for member in self.members)


def plan_refreshes(
    policy: Policy, tasks: Iterable[Task], ages: Mapping[int, int], budget: float
) -> list[Batch]:
    """The batches of an epoch, most urgent first, that together cost no more than the budget.

    When something is due, one batch is refreshed whatever it costs: however small the budget is, every answer has
    its turn. What is not due is refreshed only if there is time.
    """
    found: list[Batch] = []
    spent = 0.0
    for batch in policy.batches(tasks, ages):
        members = tuple(member for task in batch for member in task.members)
        cost = cost_of(members)
        is_due = min(task.until_deadline(ages) for task in batch) <= 0
        if spent + cost > budget and (found or not is_due):
            break
        found.append(Batch(members, cost))
        spent += cost
    return found
