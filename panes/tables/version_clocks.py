"""When changes take effect: from the clocks of streams before the epochs that applied them.

For a query, a change takes effect one tick after the clock that the query had before the epoch: just after all
that was complete then. A change that AT TIMESTAMP names an instant for takes effect then, or if it came too late
for that, like one without.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.delta import ALWAYS, BEGINNING, Instants
from panes.delta.rows import array_of, int64
from panes.state.storage.epoch_log import StreamProgress, query_clock

EPOCH = "_epoch"
"""The epoch that applied a change; `SETTLED` where nobody can tell any more, because it was long ago."""
AT = "_at"
"""The instant that AT TIMESTAMP named, or NULL."""
SETTLED = -1

_UNKNOWN = StreamProgress()

QueryClock = tuple[frozenset[int], int]
"""The streams of a query, and its clock."""


@dataclass(frozen=True)
class _Before:
    """The clocks before one epoch."""

    streams: Mapping[int, StreamProgress] = field(default_factory=dict)
    """A stream that had not begun is left out."""
    ahead: Mapping[frozenset[int], int] = field(default_factory=dict)
    """Of the queries that had come further than their streams tell, because a silent one was not waited for and
    has come back: the clock, by the streams."""


@dataclass(frozen=True)
class VersionClocks:
    """The clocks of streams, and of queries, before some epochs."""

    epochs: Mapping[int, _Before] = field(default_factory=dict)

    @classmethod
    def before(
        cls, epoch: int, streams: Mapping[int, StreamProgress], queries: Iterable[QueryClock] = ()
    ) -> VersionClocks:
        """The clocks before an epoch, from where streams and queries were then."""
        found = {s: StreamProgress(clock=p.clock, is_awaited=p.is_awaited) for s, p in streams.items()}
        known = {s: progress for s, progress in found.items() if progress != _UNKNOWN}
        ahead: dict[frozenset[int], int] = {}
        for read, clock in queries:
            if clock > query_clock(known, read):
                ahead[read] = max(clock, ahead.get(read, clock))
        return cls({epoch: _Before(known, ahead)})

    def __or__(self, other: VersionClocks) -> VersionClocks:
        return VersionClocks({**self.epochs, **other.epochs})

    def of_epochs(self, epochs: Set[int]) -> VersionClocks:
        """Those of some epochs alone."""
        return VersionClocks({epoch: self.epochs[epoch] for epoch in sorted(epochs) if epoch in self.epochs})

    def effective(self, epoch: int, streams: Set[int]) -> int:
        """The instant at which what an epoch applied takes effect for a query over some streams.

        Without streams, that is by the clock of the stream that had come furthest.
        """
        if epoch == SETTLED:
            return ALWAYS
        known = self.epochs.get(epoch, _Before())
        if streams:
            clock = query_clock(known.streams, streams)
            return max(clock, known.ahead.get(frozenset(streams), clock)) + 1
        return max((progress.clock for progress in known.streams.values()), default=BEGINNING) + 1

    def instants(self, rows: pa.Table, streams: Set[int]) -> Instants:
        """The instant at which each row of a table of versions takes effect for a query over some streams."""
        epochs, places = np.unique(int64(rows, EPOCH), return_inverse=True)
        first = np.array([self.effective(int(epoch), streams) for epoch in epochs], np.int64)
        return np.maximum(first[places], named(rows))

    def encoded(self) -> bytes:
        content = {
            epoch: [
                {
                    stream: [progress.clock, progress.is_awaited]
                    for stream, progress in before.streams.items()
                },
                [[sorted(read), clock] for read, clock in before.ahead.items()],
            ]
            for epoch, before in self.epochs.items()
        }
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def decoded(cls, content: bytes) -> VersionClocks:
        return cls(
            {
                int(epoch): _Before(
                    {
                        int(stream): StreamProgress(clock=clock, is_awaited=is_awaited)
                        for stream, (clock, is_awaited) in streams.items()
                    },
                    {frozenset(read): clock for read, clock in ahead},
                )
                for epoch, (streams, ahead) in json.loads(content).items()
            }
        )


def named(rows: pa.Table) -> npt.NDArray[np.int64]:
    """The instants that AT TIMESTAMP named; the beginning of time where it named none."""
    found: npt.NDArray[np.int64] = pc.fill_null(array_of(rows, AT), BEGINNING).to_numpy(zero_copy_only=False)
    return found
