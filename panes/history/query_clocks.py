"""The clocks that a query over some streams had after each of the epochs that are kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, CAME
from panes.delta.rows import int64, with_column
from panes.errors import StateError
from panes.history.history_file import EPOCH
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

    def as_seen(self, arrivals: pa.Table) -> pa.Table:
        """Arrivals, which have `_epoch`, with `_came` as the query has it, as far as its clocks are known."""
        if not arrivals.num_rows:
            return arrivals
        epochs, place = np.unique(int64(arrivals, EPOCH), return_inverse=True)
        seen = [self.first_seen(int(epoch)) for epoch in epochs]
        is_known = np.array([first is not None for first in seen])[place]
        first = np.array([0 if first is None else first for first in seen], np.int64)[place]
        return with_column(arrivals, CAME, np.where(is_known, first, int64(arrivals, CAME)))


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
