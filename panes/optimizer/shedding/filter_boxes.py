"""The box of a chain of filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panes.optimizer.shedding.boxes import Boxes
from panes.optimizer.shedding.posynomial import Box


@dataclass(frozen=True)
class Filter:
    """A selection: seconds of CPU per tuple, and the share of tuples that pass."""

    seconds: float
    selectivity: float


def filter_boxes(box: Box, rate: float, chain: Sequence[Filter], capacity: float = 1.0) -> Boxes:
    """One box at the source of a chain of filters, which keeps 1/Σ c(i) of the tuples (eq. 16).

    A box further up would save less and lose as much (observation 2), so the others need none.
    """
    cost = chain_cost(rate, chain)
    share = min(1.0, capacity / cost) if cost else 1.0
    return Boxes({box: share}, min(cost, capacity), capacity)


def chain_cost(rate: float, chain: Sequence[Filter]) -> float:
    """Σ c(i): seconds of CPU per second, when each filter reads what the one before lets pass (eq. 14)."""
    cost, coming = 0.0, rate
    for step in chain:
        cost += coming * step.seconds
        coming *= step.selectivity
    return cost


def cheapest_chain(filters: Sequence[Filter]) -> tuple[Filter, ...]:
    """The order that costs the least, which is also the one to shed from: by seconds per tuple that is dropped."""
    return tuple(
        sorted(filters, key=lambda f: f.seconds / (1 - f.selectivity) if f.selectivity < 1 else float("inf"))
    )
