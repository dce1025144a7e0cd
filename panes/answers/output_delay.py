"""How late the changes of an answer are seen: when each became visible, minus the instant at which it happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from panes.delta.delta import EXP, Delta
from panes.delta.rows import int64
from panes.state.buffers.chunk import Chunk


class OutputDelay(NamedTuple):
    """The changes of an answer in an epoch: how many there are, and how far before the clock they lie, together
    and at most, in microseconds. What follows the clock until the epoch is committed delays all of them alike."""

    changes: int = 0
    total_us: float = 0.0
    most_us: int = 0

    def with_other(self, other: OutputDelay) -> OutputDelay:
        """Of the changes of both."""
        changes, total_us = self.changes + other.changes, self.total_us + other.total_us
        return OutputDelay(changes, total_us, max(self.most_us, other.most_us))

    def mean_us(self, after_us: int) -> float:
        """How late the changes are seen on average, so long after the clock; 0 when there are none."""
        return self.total_us / self.changes + after_us if self.changes else 0.0

    def max_us(self, after_us: int) -> int:
        """How late the latest of them is seen, so long after the clock; 0 when there are none."""
        return self.most_us + after_us if self.changes else 0


def output_delay(delta: Delta, answer: Sequence[Chunk], since: int, clock: int) -> OutputDelay:
    """The delay of what a delta after `since` does to an answer, at a clock that may be later than that of the
    delta: of the rows that come and are taken back, and of those that expire, also of those that the `answer` held
    before.

    Groups without SLIDE change at the end of a span, unless changes are of every instant.
    """
    told = delta.clock
    instants = [delta.ts, delta.exp[delta.weight > 0]]
    for chunk in answer:
        if chunk.low <= told and chunk.high > since:
            instants.append(int64(chunk.table, EXP))
    at = np.concatenate(instants)
    late = clock - at[(at > since) & (at <= told)]
    return OutputDelay(len(late), float(late.sum(dtype=np.float64)), int(late.max(initial=0)))
