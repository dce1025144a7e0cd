"""The registered queries whose windows lack tuples: those that were not kept any more when a query began."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from panes.catalog import Catalog, GroupRecord, QueryRecord
from panes.delta.delta import BEGINNING
from panes.history.completeness import complete_from, missing_in, missing_in_store
from panes.history.history_store import History
from panes.history.manifests import Manifest
from panes.history.retention import Retained, kept_for
from panes.plan.nodes import Node
from panes.plan.stream import Stream
from panes.plan.walk import streams_of
from panes.sharing.held_in_store import held_in_store
from panes.state.storage.epoch_log import EpochRecord, MissingRows

Gaps = Mapping[int, MissingRows]
"""What a query has not seen, by the number of the stream."""
Plans = Callable[[QueryRecord], Node]


class IncompleteQueries:
    """Finds what queries lack when they begin, and lets go of that when their windows have moved past it.

    The record of each epoch has what was lacking before it, so nothing else needs to be kept.
    """

    def __init__(self, catalog: Catalog, history: History, plan_of: Plans) -> None:
        self._catalog = catalog
        self._history = history
        self._plan_of = plan_of

    def after(self, epoch: EpochRecord) -> dict[str, int]:
        """The queries that lack tuples after an epoch, with the instant from which on each has seen all."""
        found = {}
        if epoch.missing:
            streams = self._catalog.base_streams()
            for record in self._catalog.queries():
                gaps = epoch.missing.get(record.id, {}) if record.error is None else {}
                since = self._complete_from(record, streams, gaps, epoch)
                if since is not None:
                    found[record.name] = since
        return found

    def next(self, records: Sequence[QueryRecord], before: EpochRecord) -> dict[int, Gaps]:
        """What each query of the next epoch has not seen, where its windows reach back to that."""
        streams = self._catalog.base_streams()
        new = _NewQueries(self._catalog, self._history, self._plan_of, records, before, streams)
        found: dict[int, Gaps] = {}
        for record in records:
            gaps: Gaps = before.missing.get(record.id, {})
            if before.epoch >= 0 and record.first_epoch == before.epoch + 1:
                gaps = new.gaps(record)
            if self._complete_from(record, streams, gaps, before) is not None:
                found[record.id] = gaps
        return found

    def _complete_from(
        self, record: QueryRecord, streams: Sequence[Stream], gaps: Gaps, epoch: EpochRecord
    ) -> int | None:
        if not gaps:
            return None
        plan = self._plan_of(record)
        read = [stream for stream in streams if stream.name in streams_of(plan)]
        ran = epoch.queries.get(record.running)
        clock = epoch.clock_of(stream.number for stream in read) if ran is None else ran.clock
        missing = {stream.name: gaps[stream.number] for stream in read if stream.number in gaps}
        brought = {stream.name: epoch.brought.get(stream.number, 0) for stream in read}
        return complete_from(plan, missing, clock, brought)


class _NewQueries:
    """What the queries that begin in an epoch find: looked up once for all of them."""

    def __init__(
        self,
        catalog: Catalog,
        history: History,
        plan_of: Plans,
        records: Sequence[QueryRecord],
        before: EpochRecord,
        streams: Sequence[Stream],
    ) -> None:
        self._catalog = catalog
        self._plan_of = plan_of
        self._before = before
        self._streams = {stream.name: stream for stream in streams}
        self._begun = [r for r in records if r.first_epoch is not None and r.first_epoch <= before.epoch]
        self._kept: Callable[[int], Manifest] = cache(lambda stream: history.at(stream, before.epoch))
        self._stored: Callable[[GroupRecord, str], set[tuple[Retained, int]]] = cache(
            lambda group, stream: set(self._in_store(group, self._streams[stream]))
        )

    def gaps(self, record: QueryRecord) -> dict[int, MissingRows]:
        """What a query has not seen of its streams."""
        plan = self._plan_of(record)
        group = self._groups.get(record.group)
        wanted = {} if group is None else _held(plan)
        found = {}
        for stream in (self._streams[name] for name in streams_of(plan)):
            kept, brought = self._kept(stream.number), self._before.brought.get(stream.number, 0)
            gap = missing_in(kept, brought)
            if group is not None and stream.name in wanted:
                clock = BEGINNING if record.first_clock is None else record.first_clock
                stored = self._stored(group, stream.name)
                gap = missing_in_store(wanted[stream.name], stored, kept, clock, brought)
            if gap is not None:
                found[stream.number] = gap
        return found

    @cached_property
    def _groups(self) -> dict[int | None, GroupRecord]:
        """The groups that have begun before the epoch."""
        return {g.id: g for g in self._catalog.groups() if g.first_epoch <= self._before.epoch}

    def _in_store(self, group: GroupRecord, stream: Stream) -> Iterator[tuple[Retained, int]]:
        """What the store of a group surely has of a stream: what it keeps for each query, and from when on."""
        altered = self._catalog.retains_from(stream.number)
        retains_from = BEGINNING if altered is None else altered + 1
        if stream.retain_us is not None:
            yield Retained(stream.retain_us), retains_from
        for record in self._begun:
            plan = self._plan_of(record)
            if stream.name not in streams_of(plan):
                continue
            is_member = record.group == group.id
            held = _held(plan).get(stream.name) if is_member else None
            gap = self._before.missing.get(record.id, {}).get(stream.number)
            since = BEGINNING if gap is None else gap.to + 1
            assert record.first_epoch is not None
            if not is_member and record.first_epoch > group.first_epoch and record.first_clock is not None:
                # When the query began, the store may have let go of some of what the history still had.
                since = max(since, record.first_clock + 1)
            if not is_member:
                since = max(since, retains_from)
            kept = kept_for(plan, stream, record.answers.is_asked_anew)
            yield kept if held is None else held, since


def _held(plan: Node) -> dict[str, Retained]:
    """What a query needs of each stream of the store that it is read from."""
    found: dict[str, Retained] = {}
    for stream, held in held_in_store(plan):
        found[stream] = found.get(stream, Retained()) | held
    return found
