"""Aggregates over any span of time of one stream, from tuples that are kept by group and time.

This is PSoup's ranked tree over the tuples of a SteM, in columns, with running sums for what can be subtracted.
All aggregates of one selection by the same keys are answered from it, each over its own window, which is applied
when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from panes.delta.delta import CAME, first_seen
from panes.delta.rows import with_column, without
from panes.state.buffers.chunk import Chunk
from panes.state.log import Log, MergePolicy
from panes.state.storage.manifest import TIMED
from panes.synopses.timed_rows import SEEN, TimedRows
from panes.synopses.tuple_measures import Measure

_POLICY = MergePolicy(most=1 << 16, share=0.5)
"""A chunk has half of the tuples at most, unless it is small: old ones can go, and few are looked into."""


class TimedStore:
    """The tuples of one shard, in chunks that are each sorted by group and time.

    State: the tuples of the longest window, each with some numbers for every measure.
    Cost: of new tuples, sorting them, and now and then those of other chunks; of a new query that needs new
        measures, a pass over the tuples that are there; of an answer, two binary searches per chunk and group, and
        for least and greatest values a walk up a tree.
    """

    def __init__(
        self, columns: Sequence[str], keys: Sequence[str], chunks: Mapping[str, Sequence[Chunk]] | None = None
    ) -> None:
        """`columns` are all of a tuple, also the keys; tuples come with more that say when they are seen."""
        self._columns = tuple(columns)
        self.keys = tuple(keys)
        self._log = Log(_POLICY, [TimedRows(chunk) for chunk in (chunks or {}).get(TIMED, ())])

    @property
    def chunks(self) -> dict[str, list[Chunk]]:
        """What to keep, by buffer."""
        return {TIMED: [part.chunk for part in self._log.parts]}

    @property
    def rows(self) -> int:
        """The tuples that are kept."""
        return sum(part.rows for part in self._log.parts)

    def add(self, rows: pa.Table, measures: Sequence[Measure], since: int) -> None:
        """Takes in the tuples of an epoch whose span begins after `since`.

        A tuple of an earlier time came late, and is seen from then on; those of the history say when they came.
        """
        if not rows.num_rows:
            return
        rows = without(with_column(rows, SEEN, first_seen(rows, since)), CAME)
        self._log.append(
            TimedRows.of(rows, self.keys, measures),
            lambda parts: TimedRows.as_one(parts, self._columns, self.keys, measures),
        )

    def admit(self, measures: Sequence[Measure]) -> None:
        """Keeps these measures of the tuples that are there, if it does not yet."""
        self._log.parts = [part.with_measures(measures) for part in self._log.parts]

    def expire(self, since: int, keeps: Callable[[int, int, int], bool]) -> None:
        """Forgets chunks of which no tuple is to be kept after `since`; `keeps` says so of the times of the oldest
        and the youngest."""
        self._log.parts = [part for part in self._log.parts if keeps(part.low, part.high, since)]

    def seen(self, measures: Sequence[Measure], since: int, now: int) -> Iterator[TimedRows]:
        """The chunks with tuples from `since` on, as they are seen at an instant."""
        for part in self._log.parts:
            if part.high >= since and part.low <= now:
                seen = part.seen_at(now, self._columns, self.keys, measures)
                if seen is not None:
                    yield seen
