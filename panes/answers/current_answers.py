"""The answers of the last committed epoch, kept ready for all who ask."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from panes.answers.answer import Answer
from panes.answers.pace import Pace
from panes.clock import WallClock
from panes.state.storage.recently_used import RecentlyUsed

T = TypeVar("T")

_BYTES_IN_MEMORY = 64 * 1024 * 1024
"""The most bytes that the answers take which are kept ready for the next reader."""
_LEAST_BYTES = 64 * 1024
"""The least that an answer counts: it bounds the number of small answers that are kept."""
_BETWEEN_ANSWERS_S = 0.001
"""Between two answers that are ready, on average, while epochs run."""
_BURST = 32
"""Answers that are given at once to readers who come after a while, such as those of a page."""
_REST = 3.0
"""How much longer than a computation the rest is that follows it, while epochs run."""
_LONGEST_REST_S = 0.1
"""After the longest computation, before the next one."""
_COMPUTED_AT_ONCE = max(2, (os.cpu_count() or 1) // 2)
"""Answers that are computed at the same time. One-time queries, which may take long, leave one place to others."""


class _Known(NamedTuple):
    """What has been computed since the last change."""

    epoch: int
    answers: RecentlyUsed[Hashable, Answer]
    at_hand: RecentlyUsed[Hashable, Answer]
    """The last answer of each query, of whichever epoch: the same object from epoch to epoch."""
    under_way: Counter[Hashable]
    """How many threads compute the answer of each query."""


class CurrentAnswers:
    """Answers by the name of their query, for any number of threads.

    An answer is computed once per epoch, and given to all who ask until the next epoch is committed or `forget` is
    called. To give it takes one look into memory: no catalog and no file is read. Answers of one-time queries are
    computed for each who asks, under the same limits.

    Whoever does not want to wait is given the last answer, of an earlier epoch, while others compute: then the
    limits make nobody wait but those who compute.
    """

    def __init__(
        self, last_epoch: Callable[[], int], wait_for_commit: Callable[[], None] = lambda: None
    ) -> None:
        """`last_epoch` gives the number of the last committed epoch, and is asked every time. `wait_for_commit`
        returns when no epoch is just being committed."""
        self._last_epoch = last_epoch
        self._wait_for_commit = wait_for_commit
        self._known = self._nothing()
        self._computing = threading.BoundedSemaphore(_COMPUTED_AT_ONCE)
        self._asking = threading.BoundedSemaphore(_COMPUTED_AT_ONCE - 1)
        self._noting = threading.Lock()
        self._elapsed = WallClock().elapsed
        self._ready = Pace(burst=_BURST)
        self._computed = Pace()

    def keep_pace(self, is_kept: bool) -> None:
        """Whether readers leave room for epochs: to be switched on while epochs run."""
        self._ready.is_kept = self._computed.is_kept = is_kept

    def ready(self, key: Hashable) -> Answer | None:
        """The answer of a query as of the last epoch, if somebody has asked for it since the last change."""
        self._ready.turn(_BETWEEN_ANSWERS_S)
        return self._now().answers.find(key)

    def get(self, key: Hashable, compute: Callable[[int], Answer], *, may_wait: bool = True) -> Answer:
        """The answer of a query as of the last epoch; `compute` makes it, given that epoch, if nobody has asked
        for it since the last change. Without `may_wait` it may be of an earlier epoch."""
        self._ready.turn(_BETWEEN_ANSWERS_S)
        known = self._now()
        answer = known.answers.find(key)
        if answer is None and not may_wait:
            answer = self._in_place_of_waiting(known, key, self._computing)
        if answer is None:
            with self._computing:
                # Another thread may have computed it while this one waited. The answer goes where it was looked
                # for: should something have changed by now, that place is forgotten already.
                answer = known.answers.find(key)
                if answer is None:
                    with self._noted(known, key):
                        answer = self.step(lambda: compute(known.epoch))
                    known.answers.put(key, answer)
                    known.at_hand.put(key, answer)
        return answer

    def once(self, key: Hashable | None, compute: Callable[[], Answer], *, may_wait: bool = True) -> Answer:
        """The answer of a one-time query; `compute` makes it in one `step` or in several. Without `may_wait` it
        may be one that somebody else was given under this key: of this epoch, or of an earlier one in place of
        waiting. Without a key it is given to nobody else."""
        known = self._now()
        if key is None:
            with self._asking, self._computing:
                return compute()
        if not may_wait:
            last = known.at_hand.find(key)
            found = last if last is not None and last.epoch == known.epoch else None
            found = found or self._in_place_of_waiting(known, key, self._asking, self._computing)
            if found is not None:
                return found
        with self._asking, self._computing, self._noted(known, key):
            answer = compute()
        known.at_hand.put(key, answer)
        return answer

    def computed(self, compute: Callable[[], Answer]) -> Answer:
        """An answer that is not kept, such as one of an earlier instant: computed when a reader has its turn."""
        with self._computing:
            return self.step(compute)

    def step(self, work: Callable[[], T]) -> T:
        """Does a part of what readers do, and then leaves some times as much time to epochs, within limits. It
        begins when no epoch is being committed."""
        self._computed.turn()
        self._wait_for_commit()
        began = self._elapsed()
        done = work()
        self._computed.rest(min(_REST * (self._elapsed() - began), _LONGEST_REST_S))
        return done

    def forget(self) -> None:
        """Has all answers computed anew. To be called after any change other than a commit: a drop, a failure."""
        self._known = self._nothing()

    def _now(self) -> _Known:
        """What is known of the last epoch."""
        known = self._known
        last = self._last_epoch()
        if known.epoch != last:
            known = self._known = _Known(last, _kept(), known.at_hand, known.under_way)
        return known

    def _in_place_of_waiting(
        self, known: _Known, key: Hashable, *places: threading.BoundedSemaphore
    ) -> Answer | None:
        """The last answer of a query, if there is one and others compute it, or have all places to compute it."""
        is_free = not known.under_way[key] and self._computed.is_free and all(map(_has_one, places))
        return None if is_free else known.at_hand.find(key)

    @contextmanager
    def _noted(self, known: _Known, key: Hashable) -> Iterator[None]:
        """While a thread computes the answer of a query."""
        with self._noting:
            known.under_way[key] += 1
        try:
            yield
        finally:
            with self._noting:
                known.under_way[key] -= 1
                if not known.under_way[key]:
                    del known.under_way[key]

    def _nothing(self) -> _Known:
        return _Known(self._last_epoch(), _kept(), _kept(), Counter())


def _has_one(places: threading.BoundedSemaphore) -> bool:
    is_free = places.acquire(blocking=False)
    if is_free:
        places.release()
    return is_free


def _kept() -> RecentlyUsed[Hashable, Answer]:
    return RecentlyUsed(_BYTES_IN_MEMORY, _size_of)


def _size_of(answer: Answer) -> int:
    return max(_LEAST_BYTES, int(answer.table.nbytes))
