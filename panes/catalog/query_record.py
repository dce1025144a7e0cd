"""A registered query, and a group of them, as the catalog has it."""

from __future__ import annotations

from dataclasses import dataclass

from panes.query_settings import ChosenAnswers, QuerySettings


@dataclass(frozen=True)
class QueryRecord:
    """A registered query. No group and no query that is not equal to it ever gets its id, so its state never meets
    that of another; when it is altered, it gets another one itself."""

    id: int
    origin: int
    """The id under which it was first registered, which it keeps when it is altered: readers go by it."""
    name: str
    sql: str
    shards: int | None
    """Over how many shards it is spread from the next epoch on; None when that is decided by then."""
    settings: QuerySettings
    given: tuple[str, ...]
    """The settings that its statement gave in WITH; the others were those of the database."""
    answers: ChosenAnswers
    """How its answer is had."""
    group: int | None
    """The group of queries with which it shares a plan."""
    first_epoch: int | None
    """The epoch whose tuples it sees first; None until one has begun."""
    first_clock: int | None
    """The clock before that epoch."""
    error: str | None
    """Why the query is suspended; None when it is not."""
    plan_number: int
    """The number of the plan that runs it, which is `running` until another plan has taken the place of the
    first."""

    @property
    def running(self) -> int:
        """The number under which the records of epochs have it: its own, or that of its group."""
        return self.id if self.group is None else self.group


@dataclass(frozen=True)
class GroupRecord:
    """Queries that share one plan: they are equal up to constants, or read one store."""

    id: int
    shards: int | None
    first_epoch: int
    plan_number: int
    """The number of the plan that runs it."""
    plan_epoch: int
    """The epoch that began this plan."""
