"""The inputs and stages of all queries of an epoch, numbered: what several queries compute alike is one input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from panes.delta.delta import BEGINNING
from panes.history.query_clocks import QueryClocks
from panes.plan.box_schedule import BoxSchedule
from panes.runtime.first_seen import FirstSeen
from panes.runtime.task_plans import PlanValues, StageTask, TaskPlans
from panes.stages.clock_rule import ClockRule
from panes.stages.physical_plan import PhysicalInput
from panes.stages.routing import Route
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import Boxes


class InputPlace(NamedTuple):
    """An input of a stage of a query."""

    query: int
    stage: int
    input: str


class TableClocks(NamedTuple):
    """A table, and the streams whose clocks say when a change of it takes effect."""

    table: str
    streams: frozenset[int]


class JobPlan:
    """Which inputs there are, and which stage of which query reads them.

    `plans` are the same in every epoch as long as the queries are, and share inputs as before; `values` change.
    """

    def __init__(
        self,
        queries: Sequence[RunningQuery],
        rule: ClockRule,
        clocks_of: Callable[[frozenset[int]], QueryClocks],
        boxes: Boxes | None = None,
        *,
        may_come: Set[int] | None = None,
        tasks_before: int | None = None,
    ) -> None:
        """`clocks_of` gives the clocks that a query over the streams with some numbers had after earlier
        epochs. `boxes` are the schedules of the drop boxes; all is kept where there is none. `may_come` are the
        numbers of the streams from which rows may come, `tasks_before` is the number of tasks of the epoch before:
        where both are given, queries to which nothing can happen are left to sleep."""
        # A query that has another number of shards than before may have nothing to do: then its state stays.
        self.tasks = max((max(query.shards, rule.queries[query.id].spread) for query in queries), default=1)
        self.all_levels = max((max(query.plan.levels) + 1 for query in queries), default=1)
        """The levels of all queries, also of those that sleep."""
        is_same = may_come is not None and self.tasks == tasks_before
        self.asleep: frozenset[int] = (
            rule.asleep(may_come) if is_same and may_come is not None else frozenset()
        )
        """The queries of which tasks hear nothing but that their states stay as they are."""
        queries = [query for query in queries if query.id not in self.asleep]
        self.stages: list[StageTask] = []
        self.inputs: list[Route] = []
        self.input_levels: list[int] = []
        self.readers: list[list[InputPlace]] = []
        """By whom each input is read."""
        self.sketched: frozenset[int] = frozenset()
        """The inputs of which tasks are to sketch the keys."""
        self._rule = rule
        self._clocks_before = clocks_of
        self._first_seen: dict[int, FirstSeen] = {}
        """By input, where the query begins in this epoch and its streams have begun before."""
        self._since: dict[int, int] = {}
        """By input, where what is computed depends on the clock."""
        self._boxes = boxes or {}
        self._kept: dict[int, BoxSchedule] = {}
        """By input, where a drop box does not keep everything."""
        self._members = {query.id: query.members for query in queries if query.members is not None}
        self._stream_numbers = {stream.name: stream.number for stream in rule.streams}
        self._clocked_by: dict[int, frozenset[int]] = {}
        """By input that is computed from a table: the streams whose clocks say when a change takes effect."""
        self._numbers: dict[object, int] = {}
        self._of_new: set[int] = set()
        for query in queries:
            self._add(query)

    @property
    def rule(self) -> ClockRule:
        """The rule by which tasks find the clocks of the queries that they may run."""
        awake = {
            query: position for query, position in self._rule.queries.items() if query not in self.asleep
        }
        return replace(self._rule, queries=awake)

    @property
    def plans(self) -> TaskPlans:
        return TaskPlans(tuple(self.stages), tuple(self.inputs), tuple(self.input_levels))

    @property
    def values(self) -> PlanValues:
        return PlanValues(self._since, self._first_seen, self._members, self._kept, self.sketched)

    @property
    def levels(self) -> int:
        return max((max(stage.query.plan.levels) + 1 for stage in self.stages), default=1)

    def inputs_of(self, stream: str, *, of_new: bool = False) -> tuple[int, ...]:
        """The inputs that are computed from a stream, or those of queries that begin in this epoch."""
        return tuple(
            number
            for number, route in enumerate(self.inputs)
            if route.source.stream == stream and (not of_new or number in self._of_new)
        )

    def inputs_of_tables(self, *, of_new: bool) -> Mapping[TableClocks, tuple[int, ...]]:
        """The inputs that are computed from tables: those of queries that begin in this epoch, or those of
        others."""
        found: dict[TableClocks, tuple[int, ...]] = {}
        for number, streams in self._clocked_by.items():
            if (number in self._of_new) == of_new:
                key = TableClocks(str(self.inputs[number].source.table), streams)
                found[key] = (*found.get(key, ()), number)
        return found

    def _add(self, query: RunningQuery) -> None:
        inputs: list[list[int]] = []
        outputs: list[list[int]] = [[] for _ in query.plan.stages]
        alone = [
            None if stage.is_sharded else query.place_of(number).task_of(0, self.tasks)
            for number, stage in enumerate(query.plan.stages)
        ]
        for number, stage in enumerate(query.plan.stages):
            inputs.append([])
            for source in stage.inputs:
                group = query.id if source.is_matched and query.members is not None else None
                route = Route(source, query.shards, alone[number], group)
                found = self._number(route, query, query.plan.levels[number])
                self.readers[found].append(InputPlace(query.id, number, source.name))
                inputs[-1].append(found)
                if source.stage is not None:
                    outputs[source.stage].append(found)
        plain = replace(query, members=None)
        for number, task in enumerate(alone):
            self.stages.append(StageTask(plain, number, tuple(inputs[number]), tuple(outputs[number]), task))

    def _clock_before(self, query: RunningQuery) -> int:
        """The clock after which a query sees what comes; in its first epoch it sees what is there of all times."""
        return BEGINNING if self._is_first(query) else self._rule.queries[query.id].clock

    def _is_first(self, query: RunningQuery) -> bool:
        return query.first_epoch == self._rule.epoch

    def _number(self, route: Route, query: RunningQuery, level: int) -> int:
        """Queries share what they compute alike from a stream, unless some see its history and some do not, or
        their drop boxes keep other shares."""
        since = self._clock_before(query) if route.source.sees_since else None
        if route.source.scan_number is not None:
            is_new = query.members is not None and query.members.fresh is not None
        else:
            is_new = self._is_first(query)
        # What an earlier stage hands on is its own, though that of another one may have the same columns.
        owner = None if route.source.stage is None else (query.id, route.source.stage)
        clocked_by = self._clocks_of(route.source, query)
        first_seen = self._first_seen_by(query) if route.source.stream is not None else None
        box = self._box_of(route.source, query)
        key = (route.key, since, level, owner, is_new, clocked_by, first_seen, box)
        if key not in self._numbers:
            self._numbers[key] = len(self.inputs)
            if clocked_by is not None:
                self._clocked_by[len(self.inputs)] = clocked_by
            if first_seen is not None:
                self._first_seen[len(self.inputs)] = first_seen
            if since is not None:
                self._since[len(self.inputs)] = since
            if box.steps:
                self._kept[len(self.inputs)] = box
            self.inputs.append(route)
            self.input_levels.append(level)
            self.readers.append([])
            if is_new:
                self._of_new.add(self._numbers[key])
        return self._numbers[key]

    def _first_seen_by(self, query: RunningQuery) -> FirstSeen | None:
        """When a query that begins would have seen tuples; None when it does not, or none can have come late."""
        position = self._rule.queries[query.id]
        if not self._is_first(query) or position.clock == BEGINNING:
            return None
        clocks = self._clocks_before(position.streams) if len(position.streams) > 1 else None
        return FirstSeen(position.streams, position.clock + 1, clocks)

    def _box_of(self, source: PhysicalInput, query: RunningQuery) -> BoxSchedule:
        """What the drop box of an input keeps."""
        if source.stream is None or not source.has_drop_box:
            return BoxSchedule()
        return self._boxes.get(query.query, {}).get(self._stream_numbers[source.stream], BoxSchedule())

    def _clocks_of(self, source: PhysicalInput, query: RunningQuery) -> frozenset[int] | None:
        """The streams by whose clocks changes of a table take effect; None when it is no table."""
        if source.table is None:
            return None
        if source.looked_up_by is not None:
            return frozenset([self._stream_numbers[source.looked_up_by]])
        return self._rule.queries[query.id].streams
