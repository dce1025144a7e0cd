"""A registered query as the pipeline sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.sharing.shared_indexes import Members
from panes.stages.fragment import Stage
from panes.state.storage.locations import Location


@dataclass(frozen=True)
class RunningQuery:
    """A registered query, ready to run. The last stage gives its answer."""

    id: int
    stages: tuple[Stage, ...]
    shards: int
    strategy: str
    partitions: int
    first_epoch: int
    """The epoch in which it sees its first tuples, and so has no state yet."""
    folder: Location
    members: Members | None = None
    """The registered queries that it stands for, when it is a plan that many share."""
    every_instant: bool = False
    """Whether it was registered with changes = 'instant'."""

    @property
    def last(self) -> int:
        return len(self.stages) - 1

    @property
    def streams(self) -> frozenset[str]:
        """The names of the streams that it reads."""
        sources = (source for stage in self.stages for source in stage.inputs)
        return frozenset(source.scan.stream for source in sources if source.stage is None)

    def needs_history(self, epoch: int) -> bool:
        """Whether it, or one of its members, begins in the epoch and is to see what came before."""
        return self.first_epoch == epoch or (self.members is not None and self.members.fresh is not None)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """After how many shuffles beyond the first each stage runs."""
        levels: list[int] = []
        for stage in self.stages:
            read = [levels[source.stage] for source in stage.inputs if source.stage is not None]
            levels.append(1 + max(read) if read else 0)
        return tuple(levels)

    def shards_of(self, stage: int) -> int:
        return self.shards if self.stages[stage].is_sharded else 1

    def folder_of(self, stage: int) -> Location:
        """The states of the last stage and the answer lie at the top, where readers look for them."""
        return self.folder if stage == self.last else self.folder / f"stage-{stage:02d}"

    def lowered(self, number: int) -> Dataflow:
        """The operators of a stage."""
        stage = self.stages[number]
        inputs = {
            source.replaced: source.input
            if source.stage is None or source.group_by is not None
            else replace(source.input, edge=self.lowered(source.stage).edge)
            for source in stage.inputs
        }
        return lower(
            stage.plan,
            strategy=self.strategy,
            partitions=self.partitions,
            inputs=inputs,
            every_instant=self.every_instant or stage.every_instant,
        )
