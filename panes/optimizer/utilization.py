"""How busy plans keep the cores of a cluster, and whether these are enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from panes.optimizer.cost import PlanCost


@dataclass(frozen=True)
class Utilization:
    """The CPU seconds that plans take per second of event time, of those that there are.

    Where rows come as fast as event time passes, plans that take more fall behind.
    """

    busy: float
    cores: int | None = None
    """None when nobody knows."""
    alone: float = 0.0
    """What the dearest stage takes of those that run on one shard: other cores are no help to it."""

    @property
    def share(self) -> float:
        """The part of the cores, or of one where their number is not known."""
        return self.busy / (self.cores or 1)

    @property
    def is_feasible(self) -> bool:
        return self.alone < 1 and (self.cores is None or self.share < 1)

    def __str__(self) -> str:
        cores = "a core" if self.cores is None else "1 core" if self.cores == 1 else f"{self.cores} cores"
        text = f"utilization {percent(self.share)} of {cores}"
        if self.alone >= 1:
            return f"{text}: infeasible, a stage on one shard takes {percent(self.alone)} of a core"
        if self.cores is None:
            return text
        return f"{text}: {'feasible' if self.is_feasible else 'infeasible'}"


def utilization(costs: Iterable[PlanCost], cores: int | None) -> Utilization:
    """The utilization of cores by plans that run together. A stream is read once for all of them.

    >>> str(Utilization(1.68, 2)), str(Utilization(3.0, 2))
    ('utilization 84 % of 2 cores: feasible', 'utilization 150 % of 2 cores: infeasible')
    """
    busy, alone = 0.0, 0.0
    streams: dict[str, float] = {}
    for cost in costs:
        busy += cost.own
        alone = max(alone, cost.alone)
        streams |= cost.ingest
    return Utilization(busy + sum(streams.values()), cores, alone)


def percent(share: float) -> str:
    """A share in percent; small ones with two digits.

    >>> percent(0.84), percent(0.0312), percent(0.00012)
    ('84 %', '3.1 %', '0.012 %')
    """
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.2g} %"
