"""The clocks that a query over some streams had after each of the epochs that are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from panes.delta.delta import BEGINNING
from panes.errors import StateError
from panes.state.storage.epoch_log import EpochLog
from panes.state.storage.recently_used import RecentlyUsed

_QUERIES_IN_MEMORY = 256


@dataclass(frozen=True)
class QueryClocks:
    """Clocks by epoch, in the order of epochs. As those of registered queries they never move back."""

    by_epoch: dict[int, int]

    def at(self, epoch: int) -> int:
        """The clock after an epoch; the beginning of time before the first one."""
        return self.by_epoch.get(epoch, BEGINNING)

    def first_seen(self, epoch: int) -> int | None:
        """The first instant at which the query sees a tuple that came in an epoch; None when that is not known any
        more. A tuple of a later time is seen when its time comes."""
        if epoch == 0:
            return BEGINNING
        before = self.by_epoch.get(epoch - 1)
        return None if before is None else before if before == BEGINNING else before + 1


class KnownClocks:
    """The clocks of all queries that were asked lately: every epoch is looked at once for each set of streams."""

    def __init__(self, log: EpochLog) -> None:
        self._log = log
        self._known: RecentlyUsed[frozenset[int], QueryClocks] = RecentlyUsed(_QUERIES_IN_MEMORY)

    def of(self, streams: Iterable[int]) -> QueryClocks:
        """The clocks of a query over the streams with these numbers, up to the last committed epoch."""
        key = frozenset(streams)
        known = self._known.get(key, lambda: QueryClocks({})).by_epoch
        clocks: dict[int, int] = {}
        clock = BEGINNING
        for epoch in self._log.epochs:
            if epoch in known:
                clock = known[epoch]
            else:
                try:
                    clock = max(clock, self._log.record(epoch).clock_of(key))
                except StateError:
                    if epoch in self._log.epochs:
                        raise
                    continue  # collected since the epochs were listed
            clocks[epoch] = clock
        found = QueryClocks(clocks)
        self._known.put(key, found)
        return found
