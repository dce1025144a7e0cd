"""The answers of the last committed epoch, kept ready for all who ask."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeVar

from panes.answers.answer import Answer
from panes.answers.pace import Pace
from panes.clock import WallClock
from panes.errors import PanesError
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
_LONGEST_WAIT_S = 0.03
"""The longest rest, and the longest that a reader waits for its turn."""
_COMPUTED_AT_ONCE = max(2, (os.cpu_count() or 1) // 2)
"""Answers that are computed at the same time. One-time queries, which may take long, leave one place to others."""


class _Computation:
    """An answer that one thread computes, and others wait for."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.answer: Answer | None = None
        self.error: BaseException | None = None


class _Known(NamedTuple):
    """What has been computed since the last change."""

    epoch: int
    answers: RecentlyUsed[Hashable, Answer]
    asked: RecentlyUsed[Hashable, Answer]
    """Answers of one-time queries, apart from the others: there may be many that are asked only once."""
    last: RecentlyUsed[Hashable, Answer]
    """The last answer of each query, of whichever epoch: the same object from epoch to epoch."""
    under_way: dict[tuple[Hashable, int], _Computation]
    """By key and epoch. The same object from epoch to epoch."""


class CurrentAnswers:
    """Answers by the name of their query, for any number of threads.

    An answer is computed once per epoch, by the first who asks, and given to all who ask until the next epoch is
    committed or it is forgotten. To give it takes one look into memory: no catalog and no file is read. This holds
    for one-time queries, too, by their plan.

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
        self._lock = threading.Lock()
        self._elapsed = WallClock().elapsed
        self._ready = Pace(burst=_BURST, longest_wait=_LONGEST_WAIT_S)
        self._computed = Pace(longest_wait=_LONGEST_WAIT_S)
        self._waited = 0.0

    def keep_pace(self, is_kept: bool) -> None:
        """Whether readers leave room for epochs: to be switched on while epochs run."""
        self._ready.is_kept = self._computed.is_kept = is_kept

    def waited_seconds(self) -> float:
        """How long readers have waited, for their turns and for others, since this was last asked: the sum over
        all of them."""
        with self._lock:
            waited, self._waited = self._waited, 0.0
        return waited

    def ready(self, key: Hashable) -> Answer | None:
        """The answer of a query as of the last epoch, if someone has asked for it since the last change."""
        self._note(self._ready.turn(_BETWEEN_ANSWERS_S))
        return self._now().answers.find(key)

    def get(self, key: Hashable, compute: Callable[[int], Answer], *, may_wait: bool = True) -> Answer:
        """The answer of a query as of the last epoch; `compute` makes it, given that epoch, if no one has asked
        for it since the last change. Without `may_wait` it may be of an earlier epoch."""
        self._note(self._ready.turn(_BETWEEN_ANSWERS_S))
        known = self._now()
        answer = known.answers.find(key)
        if answer is None and not may_wait:
            answer = self._in_place_of_waiting(known, key, self._computing)
        if answer is None:
            answer = self._shared(known, known.answers, key, lambda: self.step(lambda: compute(known.epoch)))
        return answer

    def once(
        self, key: Hashable | None, compute: Callable[[int], Answer], *, may_wait: bool = True
    ) -> Answer:
        """The answer of a one-time query; `compute` makes it, given the last epoch, in one `step` or in several.
        It is computed once per epoch for all who ask under this key. Without `may_wait` it may be of an earlier
        epoch, in place of waiting. Without a key it is given to no one else."""
        if key is None:
            return self._asked(lambda: compute(self._last_epoch()))
        self._note(self._ready.turn(_BETWEEN_ANSWERS_S))
        known = self._now()
        answer = known.asked.find(key)
        if answer is None and not may_wait:
            answer = self._in_place_of_waiting(known, key, self._asking, self._computing)
        if answer is None:
            answer = self._shared(known, known.asked, key, lambda: self._asked(lambda: compute(known.epoch)))
        return answer

    def computed(self, compute: Callable[[], Answer], key: Hashable | None = None) -> Answer:
        """An answer that is not kept, such as one of an earlier instant: computed when a reader has its turn.
        Those who ask under one key at the same time are given the same."""
        if key is None:
            return self.step(compute)
        return self._shared(self._now(), None, key, lambda: self.step(compute))

    def step(self, work: Callable[[], T]) -> T:
        """Does a part of what readers do, and then leaves some times as much time to epochs, within limits. It
        begins when no epoch is being committed."""
        self._note(self._computed.turn())
        self._wait_for_commit()
        with self._computing:
            began = self._elapsed()
            done = work()
            self._computed.rest(min(_REST * (self._elapsed() - began), _LONGEST_WAIT_S))
        return done

    def forget(self, *keys: Hashable) -> None:
        """Has the answers of some queries computed again, also those under way. To be called after any change of
        them other than a commit: a drop, a failure."""
        with self._lock:
            known = self._known
            for place in [place for place in known.under_way if place[0] in keys]:
                del known.under_way[place]
            for key in keys:
                known.answers.drop(key)
                known.last.drop(key)

    def forget_all(self) -> None:
        """Has all answers computed again."""
        with self._lock:
            self._known = self._nothing()

    def _now(self) -> _Known:
        """What is known of the last epoch."""
        known = self._known
        last = self._last_epoch()
        if known.epoch != last:
            with self._lock:
                known = self._known
                if known.epoch != last:
                    known = self._known = known._replace(epoch=last, answers=_kept(), asked=_kept())
        return known

    def _asked(self, compute: Callable[[], Answer]) -> Answer:
        began = self._elapsed()
        with self._asking:
            self._note(self._elapsed() - began)
            return compute()

    def _shared(
        self,
        known: _Known,
        answers: RecentlyUsed[Hashable, Answer] | None,
        key: Hashable,
        compute: Callable[[], Answer],
    ) -> Answer:
        """An answer that one thread computes for all who ask for it meanwhile, and that is then kept in `answers`.

        It goes where it was looked for: should something have changed by then, that place is forgotten already.
        """
        place = key, known.epoch
        while True:
            with self._lock:
                other = known.under_way.get(place)
                if other is None:
                    # Another thread may have computed it just now.
                    found = None if answers is None else answers.find(key)
                    if found is not None:
                        return found
                    mine = known.under_way[place] = _Computation()
            if other is None:
                return self._lead(known, answers, key, mine, compute)
            began = self._elapsed()
            other.is_over.wait()
            self._note(self._elapsed() - began)
            if other.answer is not None:
                return other.answer
            if isinstance(other.error, PanesError):
                raise other.error
            # The thread that computed it was interrupted: this one does.

    def _lead(
        self,
        known: _Known,
        answers: RecentlyUsed[Hashable, Answer] | None,
        key: Hashable,
        mine: _Computation,
        compute: Callable[[], Answer],
    ) -> Answer:
        place = key, known.epoch
        try:
            mine.answer = compute()
            return mine.answer
        except BaseException as error:
            mine.error = error
            raise
        finally:
            with self._lock:
                # One that was forgotten meanwhile is not kept.
                if known.under_way.get(place) is mine:
                    del known.under_way[place]
                    if answers is not None and mine.answer is not None:
                        answers.put(key, mine.answer)
                        known.last.put(key, mine.answer)
            mine.is_over.set()

    def _note(self, seconds: float) -> None:
        if seconds > 0:
            with self._lock:
                self._waited += seconds

    def _in_place_of_waiting(
        self, known: _Known, key: Hashable, *places: threading.BoundedSemaphore
    ) -> Answer | None:
        """The last answer of a query, if there is one and others compute it, or have all places to compute it."""
        is_under_way = (key, known.epoch) in known.under_way
        is_free = not is_under_way and self._computed.is_free and all(map(_has_one, places))
        return None if is_free else known.last.find(key)

    def _nothing(self) -> _Known:
        return _Known(self._last_epoch(), _kept(), _kept(), _kept(), {})


def _has_one(places: threading.BoundedSemaphore) -> bool:
    is_free = places.acquire(blocking=False)
    if is_free:
        places.release()
    return is_free


def _kept() -> RecentlyUsed[Hashable, Answer]:
    return RecentlyUsed(_BYTES_IN_MEMORY, _size_of)


def _size_of(answer: Answer) -> int:
    return max(_LEAST_BYTES, int(answer.table.nbytes))
