"""What tasks run. Plans stay as long as the queries do, and are broadcast; their values change every epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from panes.delta.delta import BEGINNING
from panes.plan.box_schedule import BoxSchedule
from panes.runtime.first_seen import FirstSeen
from panes.sharing.shared_indexes import Members, Slices
from panes.stages.routing import Route
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_states import StagePlace


@dataclass(frozen=True)
class StageTask:
    """A stage of a query, the inputs it reads, and the task on which it runs if it runs on one alone."""

    query: RunningQuery
    stage: int
    inputs: tuple[int, ...]
    """The numbers of its inputs."""
    outputs: tuple[int, ...]
    """The numbers of the inputs of later stages that are computed from it."""
    only_task: int | None

    @property
    def place(self) -> StagePlace:
        return self.query.place_of(self.stage)

    def shard_of(self, task: int, spread: int) -> int | None:
        """The shard of a task when the query is spread over that many; None when it has none of them."""
        if self.only_task is not None:
            return 0 if task == self.only_task else None
        return task if task < spread else None


@dataclass(frozen=True)
class TaskPlans:
    """The stages and inputs of all queries, numbered. The queries are without their members."""

    stages: tuple[StageTask, ...]
    inputs: tuple[Route, ...]
    input_levels: tuple[int, ...]
    """On which level each input is read."""


@dataclass(frozen=True)
class PlanValues:
    """What the plans of an epoch depend on beside the queries."""

    since: Mapping[int, int] = field(default_factory=dict)
    """The clock before the epoch, by input, where what is computed depends on it."""
    first_seen: Mapping[int, FirstSeen] = field(default_factory=dict)
    """By input, where the query begins in this epoch and its streams have begun before."""
    members: Mapping[int, Members] = field(default_factory=dict)
    """The registered queries that share a plan, by the number of the plan."""
    boxes: Mapping[int, BoxSchedule] = field(default_factory=dict)
    """What drop boxes keep, by input, where that is not everything."""
    sketched: frozenset[int] = frozenset()
    """The inputs of which the keys are sketched."""

    def since_of(self, number: int) -> int:
        return self.since.get(number, BEGINNING)

    def box_of(self, number: int) -> BoxSchedule:
        return self.boxes.get(number, BoxSchedule())

    def slices_of(self, route: Route, *, is_history: bool) -> Slices | None:
        """The queries to match rows with: those of the past are for the queries that begin in this epoch, unless
        they get signatures, which are for all."""
        if route.group is None:
            return None
        members = self.members[route.group]
        return members.fresh if is_history and not route.source.is_signed else members.all

    def with_members(self, stage: StageTask) -> StageTask:
        """The stage with the members of its query, if it is a plan that many share."""
        members = self.members.get(stage.query.id)
        return stage if members is None else replace(stage, query=replace(stage.query, members=members))


class SentPlans(Protocol):
    """Where tasks get the plans from."""

    @property
    def value(self) -> TaskPlans: ...
