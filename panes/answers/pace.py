"""Spreads the work of readers over time, so that threads which read without pause leave room for epochs.

Readers and epochs share one Python interpreter. A thread that runs Python code gives up the interpreter only after
some milliseconds, to any one of those that wait for it. An epoch needs it hundreds of times, once for every call
to Spark, so threads that read without pause make it wait again and again. Readers that take turns, with a moment
between two of them, hold the interpreter for microseconds at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from panes.clock import WallClock


class Pace:
    """Turns in the order in which they are asked for, each for some seconds; whoever comes early waits.

    A reader that comes now and then never waits, nor one that wants a few turns together: as many as `burst` may
    follow each other at once after a time in which nobody came. No one waits longer than `longest_wait`, however
    many come: then turns follow each other faster. `is_kept` says whether anyone waits: it is off until epochs
    run.
    """

    def __init__(
        self,
        elapsed: Callable[[], float] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        burst: int = 1,
        longest_wait: float = float("inf"),
    ) -> None:
        self.is_kept = False
        self._burst = burst
        self._longest_wait = longest_wait
        self._elapsed = elapsed or WallClock().elapsed
        self._sleep = sleep
        self._lock = threading.Lock()
        self._free = 0.0
        """The end of the last turn."""

    @property
    def is_free(self) -> bool:
        """Whether a turn would begin at once."""
        return not self.is_kept or self._elapsed() >= self._free

    def turn(self, seconds: float = 0.0) -> float:
        """Waits for a turn; the next one begins at least `seconds` after it, unless it has waited for long enough.
        Gives the seconds that it waited."""
        if not self.is_kept:
            return 0.0
        with self._lock:
            now = self._elapsed()
            # What was not used of the time before counts, up to a burst.
            begin = max(now - (self._burst - 1) * seconds, self._free)
            begin = min(begin, now + self._longest_wait)
            self._free = max(self._free, begin + seconds)
        if begin > now:
            self._sleep(begin - now)
        return max(0.0, begin - now)

    def rest(self, seconds: float) -> None:
        """Lets the next turn begin at least `seconds` from now."""
        with self._lock:
            self._free = max(self._free, self._elapsed() + seconds)
