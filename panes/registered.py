"""The registered queries of a database: their plans, the groups they form, and what an epoch does with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_from_selections import AnswerFromSelections
from panes.answers.answer_source import AnswerSource
from panes.answers.instants import whole_from
from panes.answers.readers import Readers
from panes.catalog import Catalog, GroupRecord, QueryRecord
from panes.delta.delta import BEGINNING
from panes.errors import CatalogError
from panes.history.history_store import History
from panes.history.retention import Retained, kept_for, together
from panes.incomplete_queries import IncompleteQueries
from panes.language import bind, parse
from panes.language import statements as st
from panes.optimizer.optimizer import optimize
from panes.plan.begin_end import is_begin_end
from panes.plan.nodes import Node
from panes.plan.stream import Stream
from panes.plan.walk import streams_of
from panes.sharing.selection import selection_of
from panes.sharing.template import template_of
from panes.spark.epoch import Workload
from panes.stages.explain import Explained
from panes.stages.groups import Group
from panes.stages.measure_log import PIN, MeasureLog
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord
from panes.state.storage.home import folders_in
from panes.state.storage.locations import Location, remove_tree
from panes.stored_plans import StoredPlans


class Registered:
    """Plans are made once per query and process; groups follow the catalog from epoch to epoch."""

    def __init__(self, catalog: Catalog, states: Location, history: History) -> None:
        """`states` is where the folders of queries are."""
        self._catalog = catalog
        self._states = states
        self._plans: dict[int, Node] = {}
        self._physical = StoredPlans(catalog)
        self._groups: dict[int, Group] = {}
        self._kept: dict[int, dict[int, Retained]] = {}
        """What each query makes each stream keep."""
        self._standings: dict[int, AnswerSource] = {}
        self._incomplete = IncompleteQueries(catalog, history, self.plan_of)

    # Registering.

    def add(self, statement: st.CreateQuery, plan: Node) -> None:
        """Registers a query; it begins with the next epoch."""
        if not is_begin_end(plan):
            # What cannot run is refused before it is registered.
            self._physical.under_settings(plan)
        found = template_of(plan)
        record = self._catalog.register(
            statement.name,
            statement.query.sql,
            int(self._catalog.setting("shards")),
            str(self._catalog.setting("strategy")),
            int(self._catalog.setting("calendar_days")),
            None if found is None else found[0].key,
            str(self._catalog.setting("changes")),
        )
        self._plans[record.id] = plan
        if record.group is not None or not is_begin_end(plan):
            self.physical_plan(record)

    def drop(self, name: str) -> int:
        """Ends a query; gives its id."""
        record = self._catalog.drop_query(name)
        self._plans.pop(record.id, None)
        self._physical.forget("QUERY", record.id)
        self._standings.pop(record.id, None)
        self._kept.pop(record.id, None)
        return record.id

    def suspend(self, failures: Mapping[int, str]) -> None:
        """Takes what failed out of the epochs that follow: a query, or a plan that queries share.

        Which of the queries that share a plan is to blame shows when each runs by itself.
        """
        for running, error in failures.items():
            if running > 0:
                self._catalog.suspend(running, error)
            else:
                self._catalog.dissolve(-running)

    def resume(self, name: str) -> None:
        """Lets a suspended query begin anew with the next epoch, over what its streams keep."""
        record = self._catalog.resume(name)
        self._physical.forget("QUERY", record.id)
        remove_tree(self._folder(record.id))

    def names(self) -> dict[int, str]:
        """What runs is called: queries on their own, and the plans that others share, with how many do."""
        names: dict[int, str] = {}
        members: dict[int, int] = {}
        for record in self._catalog.queries():
            if record.group is None:
                names[record.id] = record.name
            else:
                members[record.group] = members.get(record.group, 0) + 1
        return names | {-group: f"shared by {count} queries ({group})" for group, count in members.items()}

    # Plans.

    def plan_of(self, record: QueryRecord) -> Node:
        if record.id not in self._plans:
            (query,) = parse(record.sql)
            assert isinstance(query, st.SelectQuery), record.sql
            self._plans[record.id] = optimize(bind(query, self._catalog))
        return self._plans[record.id]

    def physical_plan(self, record: QueryRecord) -> PhysicalPlan:
        """What runs a query: its own plan, or that of the group whose plan it shares."""
        plan = self.plan_of(record)
        if record.group is None:
            return self._physical.of_query(record, plan)
        return self._physical.of_group(record, self._group(record.group, plan).template.plan)

    # Explaining.

    def explained(self, name: str, latest: EpochRecord | None, measures: MeasureLog | None) -> Explained:
        """What runs a registered query, with what its steps did if `measures` are to be shown."""
        record = self._catalog.query(name)
        plan = self.plan_of(record)
        if is_begin_end(plan) and record.group is None:
            return Explained(plan)
        running = record.id if record.group is None else -record.group
        pin = None if latest is None else latest.pins.get(PIN)
        return Explained(
            self.physical_plan(record),
            record.shards,
            sum(other.group == record.group for other in self._catalog.queries()) if record.group else 0,
            self._shared_with_others(running),
            None if measures is None else measures.of_query(pin, running),
            None if record.group is None else plan,
        )

    def explained_plan(self, plan: Node) -> Explained:
        """What would run a query that is not registered, under the settings of now."""
        if is_begin_end(plan):
            return Explained(plan)
        return Explained(self._physical.under_settings(plan), int(self._catalog.setting("shards")))

    def _shared_with_others(self, running: int) -> Mapping[str, int]:
        """For each thing that is computed before a shuffle, how many other plans compute it too."""
        found: Counter[str] = Counter()
        seen = {running}
        for record in self._catalog.queries():
            number = record.id if record.group is None else -record.group
            if number not in seen and not (record.group is None and is_begin_end(self.plan_of(record))):
                seen.add(number)
                stages = self.physical_plan(record).stages
                found.update({d for stage in stages for s in stage.inputs for d in s.fragment.digests})
        return found

    # Reading.

    def is_ahead_of(self, standing: AnswerSource, latest: EpochRecord) -> bool:
        """Whether a query has no answer of its own yet, but the history has."""
        ran = standing.ran_by(latest)
        return ran is None or ran.clock < standing.whole_from

    def standing(self, record: QueryRecord, readers: Readers) -> AnswerSource:
        """Where the answer of a query is to be read."""
        known = self._standings.get(record.id)
        if known is None or known.first_epoch != record.first_epoch:
            known = self._find(record, readers)
            streams = {stream.number: stream.name for stream in self._catalog.base_streams()}
            complete = partial(readers.complete_from, record.id, known.plan, streams)
            known = self._standings[record.id] = replace(known, complete_from=complete)
        return known

    def _find(self, record: QueryRecord, readers: Readers) -> AnswerSource:
        plan = self.plan_of(record)
        if is_begin_end(plan) and record.group is None:
            raise CatalogError(
                f"query {record.name!r} has a BEGIN … END window, which is applied when it is invoked: "
                "there are no changes to follow in between"
            )
        schema = plan.schema.arrow
        every_instant = record.changes == "instant"
        if record.group is None:
            shards = record.shards if self.physical_plan(record).stages[-1].is_sharded else 1
            alone = AnswerFromSegments(readers.segments, self._folder(record.id), shards, schema)
            return AnswerSource(
                record.id,
                record.name,
                plan,
                alone,
                record.id,
                record.first_epoch,
                every_instant=every_instant,
            )
        folder = self._folder(-record.group)
        reading = selection_of(plan)
        if reading is not None:
            chosen = AnswerFromSelections(readers.stores, folder, record.shards, record.id, reading)
            return AnswerSource(record.id, record.name, plan, chosen, -record.group, record.first_epoch)
        group = self._group(record.group, plan)
        shards = record.shards if self.physical_plan(record).stages[-1].is_sharded else 1
        shared = AnswerFromSegments(readers.segments, folder, shards, schema, member=record.id)
        nothing = group.template.of_nothing
        # What a new query of a group has of the past is seen from the next slide on.
        clock = BEGINNING if record.first_clock is None else record.first_clock
        return AnswerSource(
            record.id,
            record.name,
            plan,
            shared,
            -record.group,
            record.first_epoch,
            of_nothing=nothing if nothing.num_rows else None,
            whole_from=whole_from(plan, clock) if clock > BEGINNING else BEGINNING,
            every_instant=every_instant,
        )

    def incomplete(self, latest: EpochRecord) -> dict[str, int]:
        """The queries whose windows lack tuples, with the instant from which on each has seen all."""
        return self._incomplete.after(latest)

    # Epochs.

    def workload(self, before: EpochRecord) -> Workload:
        """What to do in the epoch that follows: the queries of that moment."""
        epoch = before.epoch + 1
        streams = self._catalog.base_streams()
        numbers = {stream.name: stream.number for stream in streams}

        def clock_of(record: QueryRecord) -> int:
            shared = None if record.group is None else before.queries.get(-record.group)
            if shared is not None:
                return shared.clock
            return before.clock_of(numbers[name] for name in streams_of(self.plan_of(record)))

        records = self._catalog.begin_queries(epoch, clock_of)
        # What a suspended query needs stays, so that it can be resumed.
        kept = {stream.number: together(stream, self._kept_for(records, stream)) for stream in streams}
        records = [record for record in records if record.error is None]
        standing = [
            RunningQuery(
                id=record.id,
                plan=self.physical_plan(record),
                shards=record.shards,
                first_epoch=epoch if record.first_epoch is None else record.first_epoch,
                folder=self._folder(record.id),
            )
            for record in records
            if record.group is None and not is_begin_end(self.plan_of(record))
        ]
        of_group: dict[int, list[QueryRecord]] = {}
        for record in records:
            if record.group is not None:
                of_group.setdefault(record.group, []).append(record)
        groups = {group.id: group for group in self._catalog.groups()}
        standing += [self._shared(groups[number], some, epoch, kept) for number, some in of_group.items()]
        self._remove_dropped({query.folder for query in standing}, of_group.keys())
        return Workload(
            standing,
            retain_epochs=int(self._catalog.setting("retain_epochs")),
            idle_after_us=int(float(self._catalog.setting("idle_after")) * 1_000_000),
            retained=kept,
            missing=self._incomplete.next(records, before),
        )

    def _kept_for(self, records: Sequence[QueryRecord], stream: Stream) -> set[Retained]:
        found = set()
        for record in records:
            of_query = self._kept.setdefault(record.id, {})
            if stream.number not in of_query:
                of_query[stream.number] = kept_for(self.plan_of(record), stream)
            found.add(of_query[stream.number])
        return found

    def _shared(
        self, record: GroupRecord, members: list[QueryRecord], epoch: int, kept: dict[int, Retained]
    ) -> RunningQuery:
        group = self._group(record.id, self.plan_of(members[0]))
        group.update({member.id: self.plan_of(member) for member in members})
        fresh = {member.id for member in members if member.first_epoch == epoch}
        plan = self.physical_plan(members[0])
        name = plan.stages[0].inputs[0].stream
        assert name is not None
        stream = self._catalog.stream(name)
        assert isinstance(stream, st.CreateStream)
        return RunningQuery(
            id=-record.id,
            plan=plan,
            shards=record.shards,
            first_epoch=record.first_epoch,
            folder=self._folder(-record.id),
            members=group.members(fresh, kept[stream.stream.number]),
        )

    def _group(self, number: int, plan: Node) -> Group:
        if number not in self._groups:
            self._groups[number] = Group.of(plan)
        return self._groups[number]

    def _folder(self, number: int) -> Location:
        """Of a query, or of the group with that number below 0."""
        return self._states / (f"{number:06d}" if number > 0 else f"group-{-number:06d}")

    def _remove_dropped(self, kept: set[Location], groups: Set[int]) -> None:
        """Removes the states of dropped queries, between epochs, when nothing writes to them."""
        for folder in folders_in(self._states):
            if folder not in kept:
                remove_tree(folder)
        for number in self._groups.keys() - groups:
            del self._groups[number]
            self._physical.forget("GROUP", number)
