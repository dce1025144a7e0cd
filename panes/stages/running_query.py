"""A registered query as an epoch runs it."""

from __future__ import annotations

from dataclasses import dataclass

from panes.sharing.shared_indexes import Members
from panes.stages.physical_plan import PhysicalPlan
from panes.state.storage.locations import Location


@dataclass(frozen=True)
class RunningQuery:
    """A plan with its place among the states: a query of its own, or one that a group of queries shares."""

    id: int
    plan: PhysicalPlan
    shards: int
    first_epoch: int
    """The epoch in which it sees its first tuples, and so has no state yet."""
    folder: Location
    members: Members | None = None
    """The registered queries that it stands for, when it is a plan that many share."""

    def needs_history(self, epoch: int) -> bool:
        """Whether it, or one of its members, begins in the epoch and is to see what came before."""
        return self.first_epoch == epoch or (self.members is not None and self.members.fresh is not None)

    def shards_of(self, stage: int) -> int:
        return self.shards if self.plan.stages[stage].is_sharded else 1

    def folder_of(self, stage: int) -> Location:
        """The states of the last stage and the answer lie at the top, where readers look for them."""
        return self.folder if stage == self.plan.last else self.folder / f"stage-{stage:02d}"
