"""Which answers the next epoch refreshes, decided from the record of the one before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from panes.delta.delta import BEGINNING
from panes.schedule.member import Member
from panes.schedule.plan_refreshes import plan_refreshes
from panes.schedule.policies import POLICIES
from panes.schedule.probe_costs import ProbeCosts
from panes.schedule.refresh_budget import RefreshBudget
from panes.schedule.task import Task
from panes.sharing.refreshes import Refresh, Refreshes
from panes.state.storage.epoch_log import EpochRecord, QueryProgress


class Asked(NamedTuple):
    """What a query asks for that is refreshed by deadline."""

    range_us: int
    slide_us: int
    priority: float = 1.0
    right_us: int | None = None
    """Of a join the window of the right stream; the other one is that of the left."""

    @property
    def longest_us(self) -> int:
        """The longer of its windows: as many panes are read."""
        return max(self.range_us, self.right_us or 0)


@dataclass(frozen=True)
class RefreshedGroup:
    """A group of queries that read one synopsis, of which some are refreshed by deadline."""

    number: int
    pane_us: int
    asked: Mapping[int, Asked]
    """By the number of the query."""
    begins: bool = False
    """Whether the plan of the group begins with the next epoch, so that no answer is stored yet."""

    def ran(self, before: EpochRecord) -> QueryProgress | None:
        """What the epochs so far have done to the group."""
        return None if self.begins else before.queries.get(self.number)

    def period(self, query: int) -> int:
        """How many updates of the synopsis a query allows from one refresh to the next. One that has not begun yet
        may slide more often than the synopsis, which is made anew when it does."""
        return max(1, self.asked[query].slide_us // self.pane_us)

    def refresh(self, query: int) -> Refresh:
        asked = self.asked[query]
        return Refresh(query, asked.range_us, self.period(query), asked.right_us)

    def members(self, costs: ProbeCosts) -> dict[int, Member]:
        """The queries as schedulers see them, by number."""
        return {
            query: Member(
                query,
                self.number,
                self.period(query),
                -(-asked.longest_us // self.pane_us) * costs.per_pane_s,
                costs.per_answer_s,
                asked.priority,
            )
            for query, asked in self.asked.items()
        }


def costs_of(ran: QueryProgress | None) -> ProbeCosts:
    """What refreshes of a group cost, as far as it is known."""
    return ProbeCosts() if ran is None or ran.probe is None else ProbeCosts(*ran.probe, is_measured=True)


class _Division(NamedTuple):
    """What the queries of a group are divided into tasks by."""

    schedule: str
    group: int
    panes_per_answer: float


@dataclass
class NextRefreshes:
    """Decides by a schedule, from the record of the epoch before and the queries alone: an epoch that is done
    again refreshes the same answers, also after a crash."""

    _divided: dict[_Division, tuple[tuple[Member, ...], list[tuple[int, ...]]]] = field(default_factory=dict)
    """The queries of each task, with the members that they were found for: to find them takes longer than to
    use them. They are found from relative costs, which seldom change."""

    def after(
        self, before: EpochRecord, groups: Sequence[RefreshedGroup], schedule: str, *, is_live: bool
    ) -> dict[int, Refreshes]:
        """What each group refreshes in the epoch that follows a record.

        A query that has no answer yet gets one at once, whatever the budget is. A run that takes in what sources
        hold now, however long that takes, refreshes every answer in every epoch.
        """
        batches: dict[int, list[tuple[Refresh, ...]]] = {}
        ages: dict[int, int] = {}
        tasks: list[Task] = []
        for group in groups:
            ran = group.ran(before)
            known = {} if ran is None else ran.refreshed
            fresh = tuple(group.refresh(query) for query in group.asked if query not in known)
            batches[group.number] = [fresh] if fresh else []
            waiting = [query for query in group.asked if query in known]
            if ran is None or not waiting:
                continue
            tasks += self._tasks(schedule, group, waiting, costs_of(ran))
            reached = _expected_clock(ran) // group.pane_us
            for query in waiting:
                age = reached - known[query].slide // group.pane_us
                ages[query] = age if is_live else max(age, 1)
        numbers = {group.number for group in groups}
        self._divided = {key: found for key, found in self._divided.items() if key.group in numbers}
        of_query = {query: group for group in groups for query in group.asked}
        budget = _budget(before, groups) if is_live else inf
        for batch in plan_refreshes(POLICIES[schedule], tasks, ages, budget):
            group = of_query[batch.queries[0]]
            batches[group.number].append(tuple(group.refresh(query) for query in batch.queries))
        return {
            group.number: Refreshes(group.pane_us, tuple(batches[group.number]), dict(_shown(before, group)))
            for group in groups
        }

    def _tasks(
        self, schedule: str, group: RefreshedGroup, waiting: Sequence[int], costs: ProbeCosts
    ) -> Iterator[Task]:
        """The tasks of some queries of a group."""
        key = _Division(schedule, group.number, costs.panes_per_answer)
        relative = group.members(ProbeCosts(1.0, key.panes_per_answer))
        asked = tuple(relative[query] for query in waiting)
        known = self._divided.get(key)
        if known is None or known[0] != asked:
            found = POLICIES[schedule].tasks(asked)
            known = asked, [tuple(member.query for member in task.members) for task in found]
            self._divided[key] = known
        members = group.members(costs)
        for queries in known[1]:
            yield Task.of(members[query] for query in queries)


def _expected_clock(ran: QueryProgress) -> int:
    """The clock that a group will have come to after an epoch like the last one."""
    return ran.clock if ran.since == BEGINNING else ran.clock + (ran.clock - ran.since)


def _budget(before: EpochRecord, groups: Sequence[RefreshedGroup]) -> float:
    pane_us = min((group.pane_us for group in groups), default=0)
    return RefreshBudget(before.beside_refreshes_s).seconds(pane_us / 1e6)


def _shown(before: EpochRecord, group: RefreshedGroup) -> Iterator[tuple[int, int]]:
    """The slides of the answers that are there, of the queries that are still registered."""
    ran = group.ran(before)
    for query, refreshed in ({} if ran is None else ran.refreshed).items():
        if query in group.asked:
            yield query, refreshed.slide
