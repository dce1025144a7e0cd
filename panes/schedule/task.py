"""What is scheduled: members of a synopsis that are always refreshed together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from panes.schedule.member import Member


@dataclass(frozen=True, eq=False)
class Task:
    """Members of one group that are always refreshed together.

    Its time until the deadline, d, is the period after a refresh, and one less after each update of the synopsis.
    It is on time when d is not below 0 when it is done.
    """

    period: int
    members: tuple[Member, ...]

    @classmethod
    def of(cls, members: Iterable[Member]) -> Task:
        """The task of some members of a group: its period is the shortest of theirs."""
        found = tuple(members)
        return cls(min(member.period for member in found), found)

    @cached_property
    def group(self) -> Hashable:
        return self.members[0].group

    @cached_property
    def priority(self) -> float:
        return max(member.priority for member in self.members)

    @cached_property
    def first(self) -> int:
        """The lowest number of its queries: the order of tasks that nothing else tells apart."""
        return min(member.query for member in self.members)

    def age(self, ages: Mapping[int, int]) -> int:
        """The updates since the oldest of its answers was refreshed; `ages` has those of each query."""
        return max(ages[member.query] for member in self.members)

    def until_deadline(self, ages: Mapping[int, int]) -> int:
        """d: how many more updates there may be before the task is late; negative when it is."""
        return self.period - self.age(ages)
