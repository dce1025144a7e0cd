"""Refreshes on a virtual clock: one machine, synopses that are updated at every whole second, no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import floor

from panes.schedule.member import Member, cost_of
from panes.schedule.policies import Policy


@dataclass(frozen=True)
class Done:
    """A batch that was refreshed."""

    at: float
    """When it began."""
    slide: int
    """The update whose state the answers show."""
    queries: tuple[int, ...]
    until: tuple[int, ...]
    """d of each of its tasks."""
    late: tuple[int, ...]
    """By how many updates each query was refreshed later than its own period asks."""
    tasks: int


@dataclass
class VirtualRun:
    """Refreshes the members one batch after the other, as a policy says; costs are seconds.

    Updates come while a batch is refreshed, too, but are seen after it.
    """

    policy: Policy
    members: Sequence[Member]
    update_cost: float = 0.0
    """What the synopses take at every update."""
    only_due: bool = False
    """Whether nothing is refreshed before its deadline, though there is time."""
    busy: Iterable[tuple[float, float]] = ()
    """From when to when the machine does something else."""
    done: list[Done] = field(default_factory=list)
    seconds: float = 0.0

    def run(self, updates: int) -> VirtualRun:
        """Refreshes until that number of updates has come."""
        tasks = self.policy.tasks(self.members)
        periods = {member.query: member.period for member in self.members}
        shown = dict.fromkeys(periods, 0)
        """Of which update the answer of each query is."""
        seen, now = 0, 0.0
        while now < updates + 1:
            now = next((end for start, end in self.busy if start <= now < end), now)
            came = floor(now) - seen
            if came:
                seen += came
                now += came * self.update_cost
                continue
            ages = {query: seen - slide for query, slide in shown.items()}
            batch = next(self.policy.batches(tasks, ages), ())
            until = tuple(task.until_deadline(ages) for task in batch)
            if not batch or (self.only_due and min(until) > 0):
                now = floor(now) + 1.0
                continue
            members = [member for task in batch for member in task.members]
            queries = tuple(member.query for member in members)
            late = tuple(max(0, ages[query] - periods[query]) for query in queries)
            self.done.append(Done(now, seen, queries, until, late, len(tasks)))
            shown |= dict.fromkeys(queries, seen)
            now += cost_of(members)
        self.seconds = now
        return self

    @property
    def throughput(self) -> float:
        """Queries refreshed per second."""
        return sum(len(batch.queries) for batch in self.done) / self.seconds

    def late(self, query: int) -> list[int]:
        """By how many updates each refresh of a query was late."""
        return [
            late
            for batch in self.done
            for one, late in zip(batch.queries, batch.late, strict=True)
            if one == query
        ]

    @property
    def latency(self) -> float:
        """The updates by which refreshes are late, on average over queries."""
        of_query = {member.query: (0, 0) for member in self.members}
        for batch in self.done:
            for query, late in zip(batch.queries, batch.late, strict=True):
                count, total = of_query[query]
                of_query[query] = count + 1, total + late
        return sum(total / max(count, 1) for count, total in of_query.values()) / len(of_query)

    def slides(self, query: int) -> list[int]:
        """The updates that the answers of a query were of."""
        return [batch.slide for batch in self.done if query in batch.queries]
