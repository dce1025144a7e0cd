"""The answers of the last committed epoch, kept ready for all who ask."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NamedTuple

from panes.answers.answer import Answer
from panes.answers.pace import Pace
from panes.clock import WallClock
from panes.state.storage.recently_used import RecentlyUsed

_BYTES_IN_MEMORY = 64 * 1024 * 1024
"""The most bytes that the answers take which are kept ready for the next reader."""
_LEAST_BYTES = 64 * 1024
"""The least that an answer counts: it bounds the number of small answers that are kept."""
_BETWEEN_ANSWERS_S = 0.000_25
"""Between two answers that are ready, while epochs run."""
_LONGEST_REST_S = 0.05
"""After the longest computation, before the next one."""
_COMPUTED_AT_ONCE = max(2, (os.cpu_count() or 1) // 2)
"""Answers that are computed at the same time."""


class _Known(NamedTuple):
    """What has been computed since the last change."""

    epoch: int
    answers: RecentlyUsed[str, Answer]


class CurrentAnswers:
    """Answers by the name of their query, for any number of threads.

    An answer is computed once per epoch, and given to all who ask until the next epoch is committed or `forget` is
    called. To give it takes one look into memory: no catalog and no file is read.
    """

    def __init__(self, last_epoch: Callable[[], int]) -> None:
        """`last_epoch` gives the number of the last committed epoch, and is asked every time."""
        self._last_epoch = last_epoch
        self._known = self._nothing()
        self._computing = threading.BoundedSemaphore(_COMPUTED_AT_ONCE)
        self._elapsed = WallClock().elapsed
        self._ready = Pace()
        self._computed = Pace()

    def keep_pace(self, is_kept: bool) -> None:
        """Whether readers leave room for epochs: to be switched on while epochs run."""
        self._ready.is_kept = self._computed.is_kept = is_kept

    def get(self, name: str, compute: Callable[[], Answer]) -> Answer:
        """The answer of a query, computed if nobody has asked for it since the last change."""
        self._ready.turn(_BETWEEN_ANSWERS_S)
        known = self._known
        if known.epoch != self._last_epoch():
            known = self._known = self._nothing()
        answer = known.answers.find(name)
        if answer is None:
            with self._computing:
                # Another thread may have computed it while this one waited. The answer goes where it was looked
                # for: should something have changed by now, that place is forgotten already.
                answer = known.answers.find(name)
                if answer is None:
                    answer = self._paced(compute)
                    known.answers.put(name, answer)
        return answer

    def computed(self, compute: Callable[[], Answer]) -> Answer:
        """An answer that is not kept, such as one of an earlier instant: computed when a reader has its turn."""
        with self._computing:
            return self._paced(compute)

    def _paced(self, compute: Callable[[], Answer]) -> Answer:
        """Leaves as much time to epochs as readers take, within limits."""
        self._computed.turn()
        began = self._elapsed()
        answer = compute()
        self._computed.rest(min(self._elapsed() - began, _LONGEST_REST_S))
        return answer

    def forget(self) -> None:
        """Has all answers computed anew. To be called after any change other than a commit: a drop, a failure."""
        self._known = self._nothing()

    def _nothing(self) -> _Known:
        return _Known(self._last_epoch(), RecentlyUsed(_BYTES_IN_MEMORY, _size_of))


def _size_of(answer: Answer) -> int:
    return max(_LEAST_BYTES, int(answer.table.nbytes))
