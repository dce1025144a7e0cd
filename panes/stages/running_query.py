"""A registered query as an epoch runs it."""

from __future__ import annotations

from dataclasses import dataclass

from panes.answers.answer_index import AnswerIndex
from panes.config import INPUT_TRIGGERED, PIGGYBACK
from panes.sharing.shared_indexes import Members
from panes.stages.physical_plan import PhysicalPlan
from panes.state.storage.epoch_states import StagePlace


@dataclass(frozen=True)
class RunningQuery:
    """A plan that epochs run: that of a query of its own, or one that a group of queries shares."""

    id: int
    """The number of the plan, under which its states lie."""
    plan: PhysicalPlan
    shards: int
    first_epoch: int
    """The epoch in which it sees its first tuples, and so has no state yet."""
    members: Members | None = None
    """The registered queries that it stands for, when it is a plan that many share."""
    of: int | None = None
    """The number of the query that it runs; None: the same as that of the plan."""
    replaces: int | None = None
    """In its first epoch, the number of the plan that runs the query until then, when there is one."""
    continues: bool = False
    """Whether it goes on, from its first epoch on, in the place of a plan that ran the queries until then."""
    expiration: str = PIGGYBACK
    """How time reaches its operators."""
    index: AnswerIndex | None = None
    """By which columns its answer lies, if it has an index."""

    @property
    def query(self) -> int:
        """The number of the query, or of the group, that it runs."""
        return self.id if self.of is None else self.of

    @property
    def known_as(self) -> int:
        """The number under which the record of an epoch has what it did: until the plan that it replaces has
        ended, readers do not hear of it."""
        return self.query if self.replaces is None else self.id

    @property
    def is_input_triggered(self) -> bool:
        return self.expiration == INPUT_TRIGGERED

    def needs_history(self, epoch: int) -> bool:
        """Whether it, or one of its members, begins in the epoch and is to see what came before."""
        return self.first_epoch == epoch or (self.members is not None and self.members.fresh is not None)

    def shards_of(self, stage: int) -> int:
        return self.shards if self.plan.stages[stage].is_sharded else 1

    def place_of(self, stage: int) -> StagePlace:
        """Where the shards of a stage are among all states."""
        return StagePlace(self.id, stage, self.plan.levels[stage], self.plan.stages[stage].is_sharded)
