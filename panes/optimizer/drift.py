"""Whether statistics have drifted so far that a running query should get another plan."""

from __future__ import annotations

from typing import NamedTuple

MARGIN = 0.2
"""The share of its cost by which another plan must be cheaper: estimates are no better than that."""
LEAST_GAIN = 0.002
"""CPU seconds per second that a switch must save: below that the history is not worth reading again."""
REST_EPOCHS = 50
"""After a switch the next one comes no sooner, so that a plan is measured before it is judged."""


class Decision(NamedTuple):
    """What becomes of a plan."""

    is_switched: bool
    reason: str


def drift(cost: float, best: float, epochs_since_switch: int | None) -> Decision:
    """Whether a plan gives way to the best one that is known.

    Both costs are CPU seconds per second of event time under the statistics of now. `epochs_since_switch` is None
    when the query has had no other plan.

    >>> drift(0.10, 0.06, None)
    Decision(is_switched=True, reason='40 % cheaper: 0.06 instead of 0.1 CPU seconds per second')
    >>> drift(0.10, 0.09, None).is_switched
    False
    """
    gain = cost - best
    share = gain / cost if cost > 0 else 0.0
    figures = f"{best:.3g} instead of {cost:.3g} CPU seconds per second"
    if share < MARGIN:
        return Decision(False, f"no plan is cheaper by {MARGIN:.0%}: {figures}".replace("%", " %"))
    if gain < LEAST_GAIN:
        return Decision(False, f"a cheaper plan would save less than {LEAST_GAIN}: {figures}")
    if epochs_since_switch is not None and epochs_since_switch < REST_EPOCHS:
        return Decision(False, f"its plan was changed {epochs_since_switch} epochs ago: {figures}")
    return Decision(True, f"{share:.0%} cheaper: {figures}".replace("%", " %"))
