"""What an epoch runs: the registered queries of that moment, alone or in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from panes.answer_switching import AnswerSwitching
from panes.answers.answer_index import AnswerIndex
from panes.answers.open_segments import OpenSegments
from panes.answers.seen_signatures import seen_signatures
from panes.catalog import Catalog, GroupRecord, QueryRecord
from panes.config import EAGER
from panes.history.history_store import History
from panes.history.retention import Retained, kept_for, together
from panes.incomplete_queries import IncompleteQueries
from panes.plan.stream import Stream
from panes.plan.walk import streams_of
from panes.query_settings import ChosenAnswers
from panes.refreshing import Refreshing
from panes.registered import Registered
from panes.replanning import Replanning
from panes.runtime.workload import Workload
from panes.sharing.group import Group
from panes.sharing.index_slice import IndexSlice
from panes.sharing.query_index import SliceKey
from panes.sharing.shared_indexes import Members, SharedSlice, Slices
from panes.sharing.stream_indexes import StreamIndexes
from panes.stages.next_boxes import Shares, next_boxes
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord, QueryProgress
from panes.waits import waits


class RunningQueries:
    """Asked for anew at every epoch, so queries come and go while epochs run."""

    def __init__(
        self,
        catalog: Catalog,
        history: History,
        registered: Registered,
        replanning: Replanning,
        refreshing: Refreshing,
        switching: AnswerSwitching,
        segments: OpenSegments,
    ) -> None:
        self._catalog = catalog
        self._registered = registered
        self._replanning = replanning
        self._refreshing = refreshing
        self._switching = switching
        self._segments = segments
        self.alone: list[QueryRecord] = []
        """The queries of the last epoch that share no plan."""
        self._kept: dict[int, dict[tuple[int, bool], Retained]] = {}
        """What each query makes each stream keep, by its number and whether it has RETAIN."""
        self._indexes = StreamIndexes()
        self._running: dict[int, tuple[QueryRecord, RunningQuery]] = {}
        """The queries of the last epoch that share no plan, as they were registered and as they ran."""
        self._incomplete = IncompleteQueries(catalog, history, registered.plan_of)
        self._shares: tuple[int, Shares] = -1, {}
        """The last epoch after which shares of drop boxes were changed, and these. An epoch that is done again
        needs them again."""

    def set_shares(self, after: EpochRecord, shares: Shares) -> None:
        """Lets drop boxes keep other shares from the epoch on that follows a committed one."""
        self._shares = after.epoch, shares

    def incomplete(self, latest: EpochRecord) -> dict[str, int]:
        """The queries whose windows lack tuples, with the instant from which on each has seen all."""
        return self._incomplete.after(latest)

    def workload(self, before: EpochRecord, cores: int) -> Workload:
        """What to do in the epoch that follows: the queries of that moment. `cores` is the cluster's number."""
        epoch = before.epoch + 1
        streams = self._catalog.base_streams()
        numbers = {stream.name: stream.number for stream in streams}

        def clock_of(record: QueryRecord) -> int:
            shared = None if record.group is None else before.queries.get(record.group)
            if shared is not None:
                return shared.clock
            return before.clock_of(numbers[name] for name in streams_of(self._registered.plan_of(record)))

        def why_not_switched(record: QueryRecord) -> str | None:
            return self._replanning.why_not(record, before)

        self._switching.look(before)
        self._replanning.look(self.alone, before)
        records = self._catalog.begin_queries(epoch, clock_of, cores, why_not_switched)
        if self._grow([record for record in records if record.error is None], before):
            records = self._catalog.queries()
        self._kept = {record.id: self._kept.get(record.id, {}) for record in records}
        # What a suspended query needs stays, so that it can be resumed.
        kept = {stream.number: together(stream, self._kept_for(records, stream)) for stream in streams}
        records = [record for record in records if record.error is None]
        run = [record for record in records if not record.answers.is_asked_anew]
        # Equal queries have one id, and one state.
        self.alone = list({record.id: record for record in run if record.group is None}.values())
        self._running = {record.id: self._running_alone(record, epoch) for record in self.alone}
        standing = [running for _, running in self._running.values()]
        standing += self._beginning(epoch)
        of_group = _by_group(records)
        by_name = {stream.name: kept[stream.number] for stream in streams}
        groups = {group.id: group for group in self._catalog.groups()}
        members = self._members(of_group, epoch, by_name)
        shared = [self._shared(groups[number], some, members[number]) for number, some in of_group.items()]
        standing += self._with_refreshes(shared, run, before)
        self._registered.keep_groups(of_group.keys())
        self._registered.keep_plans({query.id for query in standing})
        decided_after, shares = self._shares
        return Workload(
            standing,
            retain_epochs=int(self._catalog.setting("retain_epochs")),
            idle_after_us=int(waits(self._catalog.setting).idle_after_s * 1_000_000),
            exchange=str(self._catalog.setting("exchange")),
            retained=kept,
            tables=self._catalog.tables(),
            missing=self._incomplete.next(records, before),
            boxes=next_boxes(before, standing, numbers, shares if decided_after == before.epoch else None),
        )

    def _running_alone(self, record: QueryRecord, epoch: int) -> tuple[QueryRecord, RunningQuery]:
        """A query that shares no plan, as it ran in the epoch before where nothing has happened to it since."""
        plan = self._registered.physical_plan(record)
        known = self._running.get(record.id)
        if known is not None and known[0] is record and known[1].plan is plan:
            return known
        return record, RunningQuery(
            id=record.plan_number,
            plan=plan,
            shards=_shards(record),
            first_epoch=epoch if record.first_epoch is None else record.first_epoch,
            of=record.id,
            expiration=record.settings.expiration,
            index=AnswerIndex.of(record.settings),
        )

    def _with_refreshes(
        self, shared: Sequence[RunningQuery], records: Sequence[QueryRecord], before: EpochRecord
    ) -> list[RunningQuery]:
        """The groups, with the answers that the epoch refreshes."""
        begin = {query.query for query in shared if query.first_epoch > before.epoch}
        refreshes = self._refreshing.next(before, records, begin)
        return [
            query
            if query.members is None or query.query not in refreshes
            else replace(query, members=replace(query.members, refreshes=refreshes[query.query]))
            for query in shared
        ]

    def _beginning(self, epoch: int) -> list[RunningQuery]:
        """The plans that begin in an epoch beside those that they replace."""
        alone = {record.id: record for record in self.alone}
        return [
            RunningQuery(
                id=found.number,
                plan=self._registered.successor(found.number),
                shards=_shards(alone[found.query]),
                first_epoch=epoch,
                of=found.query,
                replaces=alone[found.query].plan_number,
                expiration=alone[found.query].settings.expiration,
                index=AnswerIndex.of(alone[found.query].settings),
            )
            for found in self._catalog.successors()
            if found.query in alone
        ]

    def _kept_for(self, records: Sequence[QueryRecord], stream: Stream) -> set[Retained]:
        found = set()
        for record in records:
            of_query, key = self._kept[record.id], (stream.number, stream.retain_us is None)
            if key not in of_query:
                plan = self._registered.plan_of(record)
                of_query[key] = kept_for(plan, stream, record.answers.is_asked_anew)
            found.add(of_query[key])
        return found

    def _members(
        self, of_group: Mapping[int, Sequence[QueryRecord]], epoch: int, kept: Mapping[str, Retained]
    ) -> dict[int, Members]:
        """The queries of all groups as tasks get them: with one index for each stream."""
        groups: dict[int, Group] = {}
        fresh: dict[int, list[IndexSlice] | None] = {}
        for number, records in of_group.items():
            group = groups[number] = self._registered.group(number, self._registered.plan_of(records[0]))
            group.update({record.id: self._registered.plan_of(record) for record in records})
            group.sign(self._registered.physical_plan(records[0]).plan)
            begin = {record.id for record in records if record.first_epoch == epoch}
            fresh[number] = group.fresh_slices(begin) if begin else None
        all_slices = self._indexes.update(_by_key({n: group.slices for n, group in groups.items()}))
        new_slices = self._indexes.some(_by_key({n: some for n, some in fresh.items() if some}))
        return {
            number: group.members(
                _of_group(all_slices, number, group.slices),
                None if (some := fresh[number]) is None else _of_group(new_slices, number, some),
                kept,
            )
            for number, group in groups.items()
        }

    def _shared(self, record: GroupRecord, records: Sequence[QueryRecord], members: Members) -> RunningQuery:
        return RunningQuery(
            id=record.plan_number,
            plan=self._registered.physical_plan(records[0]),
            shards=_known(record.shards),
            first_epoch=record.plan_epoch,
            members=members,
            of=record.id,
            continues=record.first_epoch < record.plan_epoch,
        )

    def _grow(self, records: Sequence[QueryRecord], before: EpochRecord) -> bool:
        """Lets synopses grow that queries of an epoch need more of; says whether there are any. A synopsis begins
        anew, over the history of its stream, for all of its queries. Where the history no longer has what those
        need that run, the ones that need more run by themselves."""
        epoch, has_grown = before.epoch + 1, False
        for number, members in _by_group(records).items():
            group = self._registered.group(number, self._registered.plan_of(members[0]))
            if group.template.source is None:
                continue
            group.update({member.id: self._registered.plan_of(member) for member in members})
            runs = self._registered.physical_plan(members[0]).plan
            outgrown = group.outgrown(runs)
            if not outgrown:
                continue
            has_grown = True
            run = [member for member in members if member.first_epoch != epoch]
            ran = before.queries.get(number)
            seen = partial(_seen, self._segments, ran)
            reason = group.why_not_grown(runs, seen) or self._why_not_rebuilt(group, run, before)
            if reason is None:
                why = f"{len(outgrown)} queries need more of the synopsis"
                self._registered.begin_group_anew(number, members[0], epoch, why)
            else:
                alone = ChosenAnswers(EAGER, f"the synopsis of others cannot grow: {reason}")
                self._catalog.query_groups.leave(outgrown, alone)
        return has_grown

    def _why_not_rebuilt(
        self, group: Group, members: Sequence[QueryRecord], before: EpochRecord
    ) -> str | None:
        """The reason why the history does not give what the queries of a synopsis have; None when it does. It has
        what all of them need when it has what the ones need whose windows reach back the furthest, stream by
        stream."""
        if not members:
            return None
        ran = before.queries.get(members[0].running)
        clock = before.clock if ran is None else ran.clock
        windows = {member.id: group.readers[member.id].windows for member in members}
        for number in range(len(windows[members[0].id])):
            furthest = min(members, key=lambda member: windows[member.id][number].reach(clock).since)
            reason = self._replanning.why_not_rebuilt(furthest, before)
            if reason is not None:
                return reason
        return None


def _seen(segments: OpenSegments, ran: QueryProgress | None) -> int | None:
    """In how many ways the tuples of a group have passed the selections of its queries, where that is known."""
    return None if ran is None else seen_signatures(segments, ran)


def _by_key(slices: Mapping[int, Sequence[IndexSlice]]) -> dict[SliceKey, IndexSlice]:
    found = ((group, number, mine) for group, some in slices.items() for number, mine in enumerate(some))
    return {SliceKey(group, number): mine for group, number, mine in found}


def _of_group(shared: Mapping[SliceKey, SharedSlice], group: int, slices: Sequence[IndexSlice]) -> Slices:
    return tuple(shared[SliceKey(group, number)] for number in range(len(slices)))


def _by_group(records: Sequence[QueryRecord]) -> dict[int, list[QueryRecord]]:
    """The queries that share plans, by group."""
    found: dict[int, list[QueryRecord]] = {}
    for record in records:
        if record.group is not None:
            found.setdefault(record.group, []).append(record)
    return found


def _shards(record: QueryRecord) -> int:
    """The number of shards of a query that has begun; one where time reaches operators in a way of their own."""
    return 1 if record.settings.is_alone else _known(record.shards)


def _known(shards: int | None) -> int:
    """The number of shards of a query that has begun."""
    assert shards is not None
    return shards
