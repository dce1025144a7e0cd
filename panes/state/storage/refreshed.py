"""How far the answer of a query has been refreshed that is refreshed by deadline."""

from __future__ import annotations

from typing import NamedTuple


class Refreshed(NamedTuple):
    """The slide that the stored answer shows, and how refreshes have kept to the deadlines so far."""

    slide: int
    epoch: int
    """The epoch that refreshed it."""
    before: int | None = None
    """The slide that it showed before that; None when this was the first refresh."""
    refreshes: int = 0
    """The number of refreshes after the first one."""
    updates: int = 0
    """The updates of the synopsis from each of them to the next, added up."""
    late: int = 0
    """How many refreshes were late."""
    late_by: int = 0
    """The updates by which they were, added up."""

    def after(self, slide: int, epoch: int, updates: int, period: int) -> Refreshed:
        """The same after a refresh for a later slide, with the updates that it came after, of which there were to
        be no more than the period."""
        late_by = max(0, updates - period)
        return Refreshed(
            slide,
            epoch,
            self.slide,
            self.refreshes + 1,
            self.updates + updates,
            self.late + (late_by > 0),
            self.late_by + late_by,
        )

    @property
    def given(self) -> float | None:
        """The updates from one refresh to the next, on average; None before the second."""
        return self.updates / self.refreshes if self.refreshes else None

    @property
    def latency(self) -> float | None:
        """The updates by which refreshes were later than asked, on average; None before the second."""
        return self.late_by / self.refreshes if self.refreshes else None
