"""A query whose answer is refreshed from a synopsis, as schedulers see it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Member:
    """A query whose answer is refreshed from a synopsis."""

    query: int
    group: Hashable
    """The synopsis that it reads: queries of one group can be refreshed together."""
    period: int
    """How many updates of the synopsis there may be from one refresh to the next: its SLIDE in panes."""
    scan: float
    """What it costs to go over the panes of its window. Members of a group that are refreshed together need one
    pass, over the longest window (CS1, CS2)."""
    finish: float = 0.0
    """What it costs on top of that, in any company: the results of its groups, HAVING, what is stored."""
    priority: float = 1.0

    def __post_init__(self) -> None:
        if self.period < 1:
            raise ValueError(
                f"a query is refreshed after one update at the earliest, not after {self.period}"
            )


def cost_of(members: Iterable[Member]) -> float:
    """What one refresh of members of one group costs, when all are refreshed together."""
    found = tuple(members)
    return max(member.scan for member in found) + sum(member.finish for member in found)
