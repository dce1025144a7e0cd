"""Holds: what readers are looking at stays until they are done."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType

from panes.delta.delta import BEGINNING
from panes.errors import EpochGone


class Leases:
    """Which epochs are being read in this process, and before which epoch everything may be removed.

    A reader holds the oldest epoch that it needs, and may then take its time with that one and all later ones.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: Counter[int] = Counter()
        self._released = BEGINNING

    def hold(self, epoch: int) -> Lease:
        """Keeps an epoch and all later ones until the hold is closed; refused when the epoch may be gone."""
        self._begin(epoch)
        return Lease(self, epoch)

    def release_before(self, epoch: int) -> int:
        """Lets go of the epochs before this one, but for those that readers hold; gives the oldest to keep."""
        with self._lock:
            self._released = max(self._released, min((epoch, *self._held)))
            return self._released

    def _begin(self, epoch: int) -> None:
        with self._lock:
            if epoch < self._released:
                raise EpochGone(
                    f"epoch {epoch} is no longer kept; the oldest that is kept is {self._released}"
                )
            self._held[epoch] += 1

    def _end(self, epoch: int) -> None:
        with self._lock:
            self._held[epoch] -= 1
            if not self._held[epoch]:
                del self._held[epoch]


class Lease:
    """What one reader holds; made by `Holds.hold`."""

    def __init__(self, holds: Leases, epoch: int) -> None:
        self._holds = holds
        self.epoch = epoch

    def move_to(self, epoch: int) -> None:
        """Holds a later epoch in place of this one, with no moment between the two."""
        self._holds._begin(epoch)
        self._holds._end(self.epoch)
        self.epoch = epoch

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holds._end(self.epoch)
