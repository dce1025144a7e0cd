"""How long the refreshes of an epoch may take, decided from how long epochs take."""

from __future__ import annotations

from dataclasses import dataclass, replace

_KEPT = 0.7
"""How much of what epochs take without refreshes is still what it was before an epoch."""
_LEAST = 0.5
"""How much longer epochs may get by refreshes when they are too long without any: then an epoch brings several
updates, and to bring them in fewer epochs costs less than to refresh less."""


@dataclass(frozen=True)
class RefreshBudget:
    """What epochs take without refreshes, smoothed over epochs; None before the first one."""

    other_s: float | None = None

    def after(self, seconds: float, refreshed_s: float) -> RefreshBudget:
        """The same after an epoch that took so long, of which its refreshes took a part."""
        other = max(seconds - refreshed_s, 0.0)
        # One that takes less than half as long as those before shows that these were unlike those that follow: the
        # first epoch takes in all that came before it.
        if self.other_s is None or other < self.other_s / 2:
            return replace(self, other_s=other)
        return replace(self, other_s=_KEPT * self.other_s + (1 - _KEPT) * other)

    def seconds(self, pane_s: float) -> float:
        """How long the refreshes of the next epoch may take, when synopses are updated every `pane_s` seconds.

        An epoch with its refreshes is to be as long as the time from one update to the next, so that each update
        has its epoch. Where epochs are longer than that, refreshes make them longer by a part of themselves.
        """
        if self.other_s is None:
            return pane_s
        return max(pane_s - self.other_s, _LEAST * self.other_s)
