"""Which share of a stream a query keeps, as a step function of event time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from panes.plan.windows import BEGINNING, Instants


@dataclass(frozen=True)
class BoxSchedule:
    """The shares of one drop box: `steps` are (from which event time on, the share that is kept), oldest first.

    Before the first step everything is kept. The share of a row depends on its event time alone, so that a replay,
    a late row and any cut into epochs meet the same one.

    >>> schedule = BoxSchedule().changed(100, 0.5).changed(200, 1.0)
    >>> schedule.shares(np.array([99, 100, 199, 200])).tolist()
    [1.0, 0.5, 0.5, 1.0]
    """

    steps: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        for _, share in self.steps:
            if not 0 < share <= 1:
                raise ValueError(f"a drop box keeps a share above 0 and at most 1, not {share}")
        starts = [start for start, _ in self.steps]
        if any(one >= other for one, other in pairwise(starts)):
            raise ValueError(f"the steps of a drop box are not in the order of time: {starts}")

    @classmethod
    def of(cls, steps: Sequence[Sequence[float]]) -> BoxSchedule:
        """The schedule that `as_list` has given."""
        return cls(tuple((int(start), float(share)) for start, share in steps))

    def as_list(self) -> list[list[float]]:
        """The steps as JSON can have them."""
        return [[start, share] for start, share in self.steps]

    @property
    def share(self) -> float:
        """The share that is kept of the newest rows."""
        return self.steps[-1][1] if self.steps else 1.0

    def shares(self, ts: Instants) -> npt.NDArray[np.float64]:
        """The share that is kept of rows with these event times."""
        starts = np.array([start for start, _ in self.steps], np.int64)
        shares = np.array([1.0, *(share for _, share in self.steps)])
        return shares[np.searchsorted(starts, ts, "right")]

    def least(self, since: int, until: int) -> float:
        """The least share of the event times from `since` to `until`, both included."""
        within = [share for start, share in self.steps if since < start <= until]
        return min([float(self.shares(np.array([since]))[0]), *within])

    def changed(self, start: int, share: float) -> BoxSchedule:
        """The schedule that keeps another share from an event time on.

        The time must not lie before the newest step: rows of earlier times have met their share already.
        """
        steps = self.steps
        if steps and steps[-1][0] == start:
            steps = steps[:-1]
        before = BoxSchedule(steps)
        return before if share == before.share else BoxSchedule((*steps, (start, share)))

    def pruned(self, oldest: int) -> BoxSchedule:
        """The schedule for event times from `oldest` on: the steps that end before it are left out."""
        kept = tuple(step for step in self.steps if step[0] > oldest)
        share = float(self.shares(np.array([oldest]))[0])
        return BoxSchedule(kept if share == 1 else ((BEGINNING, share), *kept))
