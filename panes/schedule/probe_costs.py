"""What it costs to refresh answers from a synopsis, smoothed over what refreshes have taken."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

_KEPT = 0.8
"""How much of a cost is still what it was before a refresh."""
_LEAST = 1e-9


@dataclass(frozen=True)
class ProbeCosts:
    """Seconds per pane that is gone over, and per answer that is made of what was found there.

    Before anything was measured a pane costs as much as an answer: the order of costs is right then, which is what
    schedules are chosen by.
    """

    per_pane_s: float = 1e-4
    per_answer_s: float = 1e-4
    is_measured: bool = False

    def after(self, *, panes: int, scan_s: float, answers: int, finish_s: float) -> ProbeCosts:
        """The same after refreshes that went over some panes and made some answers."""
        if not panes or not answers:
            return self
        kept = _KEPT if self.is_measured else 0.0
        return ProbeCosts(
            kept * self.per_pane_s + (1 - kept) * scan_s / panes,
            kept * self.per_answer_s + (1 - kept) * finish_s / answers,
            is_measured=True,
        )

    @property
    def panes_per_answer(self) -> float:
        """How many panes could be gone over while an answer is made, as a power of two: what is refreshed with
        what depends on nothing else, and is to stay while measured costs go up and down.

        >>> ProbeCosts(0.001, 0.0049).panes_per_answer
        4.0
        """
        ratio = max(self.per_answer_s, _LEAST) / max(self.per_pane_s, _LEAST)
        return float(2 ** round(log2(ratio)))
