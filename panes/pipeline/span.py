"""The span of time that an epoch moves through, as every task of it finds it out by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from panes.pipeline.progress import (
    Measured,
    Progress,
    complete_to,
    is_any_file_bad,
    progress_after,
    rows_since,
)
from panes.plan.stream import Stream


@dataclass(frozen=True)
class Span:
    """The epoch to run, and the span of time it moves through."""

    epoch: int
    since: int
    clock: int


@dataclass(frozen=True)
class SpanRule:
    """How the clock of an epoch follows from what its tasks have measured.

    Every task of the second level hears what all those below have measured and comes to the same clock, so that
    an epoch needs no Spark job of its own to find it. With `clock` the epoch has no rows, and moves there.
    """

    epoch: int
    since: int
    streams: Sequence[Stream]
    before: Progress
    now_us: int
    idle_after_us: int
    clock: int | None = None
    found: tuple[Measured, ...] = ()
    """What the driver has measured itself."""

    def progress(self, measured: Iterable[Measured]) -> Progress:
        return progress_after((*self.found, *measured), self.streams, self.before, self.now_us)

    def span(self, measured: Iterable[Measured]) -> Span | None:
        """None when nothing came and no time passed: then there is no epoch."""
        if self.clock is not None:
            return Span(self.epoch, self.since, self.clock)
        progress = self.progress(measured)
        reached = complete_to(self.streams, progress, self.now_us, self.idle_after_us)
        clock = max(self.since, reached)
        is_silent = rows_since(progress, self.before) == 0 and not is_any_file_bad(progress, self.before)
        if clock == self.since and is_silent:
            return None
        return Span(self.epoch, self.since, clock)
