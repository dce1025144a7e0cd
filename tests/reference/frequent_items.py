"""Algorithm 6 of Golab's thesis, value by value: which values are frequent, from the heaviest of each pane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

Value = Hashable


@dataclass
class Pane:
    """The list of a pane, and how often a value may occur in it that is not on the list."""

    leaves: int
    listed: dict[Value, int]
    bound: int


@dataclass
class FrequentItems:
    """The panes of a window, each given when it closes, and what comes late for them."""

    k: int
    panes: dict[Hashable, Pane] = field(default_factory=dict)

    def close(self, pane: Hashable, leaves: int, values: Iterable[Value]) -> None:
        """Takes the values that come together for a pane at one instant."""
        counts = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
        if not counts:
            return
        if pane not in self.panes:
            bound = counts[self.k - 1][1] if len(counts) >= self.k else 0
            self.panes[pane] = Pane(leaves, dict(counts[: self.k]), bound)
            return
        known = self.panes[pane]
        had = set(known.listed)
        for value, count in counts:
            if value in had or len(known.listed) < self.k:
                known.listed[value] = known.listed.get(value, 0) + count
            else:
                known.bound += count

    def move_to(self, now: int) -> None:
        """Takes the panes out that have left."""
        self.panes = {name: pane for name, pane in self.panes.items() if pane.leaves > now}

    @property
    def threshold(self) -> int:
        return sum(pane.bound for pane in self.panes.values())

    def bounds(self, value: Value) -> tuple[int, int]:
        """The least and the greatest number of times that a value can occur."""
        listed = sum(pane.listed.get(value, 0) for pane in self.panes.values())
        return listed, listed + sum(pane.bound for pane in self.panes.values() if value not in pane.listed)

    @property
    def frequent(self) -> list[tuple[Value, int, int]] | None:
        """The values over the threshold, with their bounds; None when no value is listed."""
        listed = {value for pane in self.panes.values() for value in pane.listed}
        over = [(value, *self.bounds(value)) for value in listed if self.bounds(value)[0] > self.threshold]
        return sorted(over, key=lambda row: (-row[1], row[0])) if listed else None
