"""How many rows pass an edge of a physical plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """Rows per second of event time: those that come, and those that take others back. A row that leaves at a
    known time is no row on an edge, unless the strategy makes it one."""

    came: float = 0.0
    gone: float = 0.0

    @property
    def rows(self) -> float:
        return self.came + self.gone

    def share(self, of: float) -> Flow:
        """A part of the rows, or a multiple of them."""
        return Flow(self.came * of, self.gone * of)

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.came + other.came, self.gone + other.gone)
