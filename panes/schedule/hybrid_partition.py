"""Which sub-groups of a group to refresh more often than asked, so that they are refreshed with others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import lcm
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from panes.schedule.member import Member

_HORIZON = 2520
"""Over how many updates schedules are compared at most: all periods up to 10 come round in it together."""
_STATES = 64
"""How many ways to divide the sub-groups so far are followed: all of them up to five sub-groups."""


@dataclass(frozen=True)
class SubGroup:
    """The members of a group with one period, and what it costs to refresh them."""

    period: int
    scan: float
    finish: float
    members: tuple[Member, ...] = ()


class Partition(NamedTuple):
    """Sub-groups in blocks, each of which is refreshed with the shortest period in it, and what an update of the
    synopsis costs then on average."""

    blocks: tuple[tuple[SubGroup, ...], ...]
    cost: float


def sub_groups(members: Iterable[Member]) -> list[SubGroup]:
    """The members of a group by period, shortest first."""
    found: dict[int, list[Member]] = {}
    for member in members:
        found.setdefault(member.period, []).append(member)
    return [
        SubGroup(
            period,
            max(member.scan for member in some),
            sum(member.finish for member in some),
            tuple(some),
        )
        for period, some in sorted(found.items())
    ]


def cost_per_update(blocks: Iterable[Iterable[SubGroup]]) -> float:
    """What a schedule costs per update on average, when each block is refreshed as often as its shortest period
    says, and blocks that are due at the same update are refreshed together.

    >>> first, second = SubGroup(2, 9, 0), SubGroup(3, 14, 0)
    >>> round(cost_per_update([[first], [second]]), 2), cost_per_update([[first, second]])
    (7.67, 7.0)
    """
    ordered = [sorted(block, key=lambda sub: sub.period) for block in blocks]
    state = _Divided.begun(_horizon([sub.period for block in ordered for sub in block]))
    for number, block in enumerate(ordered):
        for sub in block:
            state = state.with_one(sub, number)
    return state.cost


def hybrid_partition(subs: Sequence[SubGroup]) -> Partition:
    """The cheapest division into blocks.

    A dynamic program over set partitions: sub-groups come by period, shortest first, so that the first one of a
    block decides how often it is refreshed; and what a later one adds depends on the scans of the blocks so far,
    never on who is in them. Of divisions with the same scans only the cheapest is followed, and no more than
    `_STATES` of all: what later sub-groups cost is not known then, but a division never gets cheaper.
    """
    ordered = sorted(subs, key=lambda sub: (sub.period, sub.scan))
    states = [_Divided.begun(_horizon([sub.period for sub in ordered]))]
    for sub in ordered:
        found: dict[tuple[tuple[int, float], ...], _Divided] = {}
        for number, block in _cheapest_first(states, sub):
            extended = states[number].with_one(sub, block)
            found.setdefault(extended.tops, extended)
            if len(found) == _STATES:
                break
        states = list(found.values())
    best = min(states, key=lambda state: state.cost)
    return Partition(best.blocks, best.cost)


def _cheapest_first(states: Sequence[_Divided], sub: SubGroup) -> Iterator[tuple[int, int]]:
    """The ways to add a sub-group to one of the divisions so far, cheapest first: the numbers of the division
    and of the block."""
    scans = np.stack([state.scans for state in states])
    more = np.maximum(sub.scan - scans, 0.0)
    periods = {period for state in states for period, _ in state.tops} | {sub.period}
    scanned = {period: more[:, period - 1 :: period].sum(axis=1) / scans.shape[1] for period in periods}
    ways = [
        (number, block, state.cost + scanned[period][number] + sub.finish / period)
        for number, state in enumerate(states)
        for block, period in enumerate([*(period for period, _ in state.tops), sub.period])
    ]
    for number, block, _ in sorted(ways, key=lambda way: way[2]):
        yield number, block


class _Divided(NamedTuple):
    """The first sub-groups, divided into blocks."""

    blocks: tuple[tuple[SubGroup, ...], ...]
    tops: tuple[tuple[int, float], ...]
    """The period and the scan of each block."""
    scans: npt.NDArray[np.float64]
    """What is scanned at each update."""
    scan: float
    """The same on average."""
    finish: float
    """What all else costs per update."""

    @classmethod
    def begun(cls, horizon: int) -> _Divided:
        return cls((), (), np.zeros(horizon), 0.0, 0.0)

    @property
    def cost(self) -> float:
        return self.scan + self.finish

    def with_one(self, sub: SubGroup, block: int) -> _Divided:
        """The same with one sub-group more, in one of the blocks or in a new one after them. Its period is not
        shorter than those of the others."""
        is_new = block == len(self.blocks)
        period, top = (sub.period, -1.0) if is_new else self.tops[block]
        members = () if is_new else self.blocks[block]
        scans, scan = self.scans, self.scan
        if sub.scan > top:
            scans = scans.copy()
            due = scans[period - 1 :: period]
            np.maximum(due, sub.scan, out=due)
            scan = float(scans.mean())
        return _Divided(
            (*self.blocks[:block], (*members, sub), *self.blocks[block + 1 :]),
            (*self.tops[:block], (period, max(top, sub.scan)), *self.tops[block + 1 :]),
            scans,
            scan,
            self.finish + sub.finish / period,
        )


def _horizon(periods: Sequence[int]) -> int:
    """After how many updates all come round together, or as many as are looked at."""
    return max(min(lcm(*periods), _HORIZON), max(periods, default=1))
