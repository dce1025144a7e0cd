"""A registered query as readers see it: its plan, and where the rows of its answer are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import pyarrow as pa

from panes.answers.instants import last_slide
from panes.answers.key_lookup import KeyLookup
from panes.delta.delta import BEGINNING
from panes.plan.expressions import Expression
from panes.plan.nodes import Node
from panes.plan.output_streams import is_known_at_every_instant
from panes.state.storage.epoch_log import EpochRecord, QueryProgress


class AnswerRows(Protocol):
    """The rows of a query's answer while their epochs are kept.

    `ran` is what the last epoch that ran the query did to it, `is_first` whether that was its first.
    """

    def at(
        self, ran: QueryProgress, instant: int, *, is_first: bool, lookup: KeyLookup | None = None
    ) -> pa.Table:
        """The answer at the clock, or at an instant of the span where it is known between clocks; with a lookup,
        what it finds of it. It may have more columns than the answer shows: those that it is sorted by, and the
        half widths of intervals."""

    def events(self, ran: QueryProgress, *, is_first: bool) -> pa.Table:
        """What came into the answer and what went from it during the span: its columns, `_at` in microseconds, and
        `_weight`. In the first epoch of a query they may lie before the span, and are then of its history."""


@dataclass(frozen=True)
class AnswerSource:
    id: int
    name: str
    plan: Node
    rows: AnswerRows
    running: int
    """The number under which the records of epochs have it: its own, or that of the group whose plan it shares."""
    first_epoch: int | None
    """The epoch whose tuples the query saw first; None until one has begun."""
    of_nothing: pa.Table | None = None
    """The answer when no row is there, where it is not empty: of queries that share a plan and have no groups."""
    whole_from: int = BEGINNING
    """The instant from which on its windows hold all that they must: a query that joins others in a shared plan
    has its history from the next slide on."""
    every_instant: bool = False
    """Whether the query was registered with changes = 'instant'."""

    is_refreshed: bool = False
    """Whether its answer is refreshed by deadline: then it is that of the slide of the last refresh."""
    index: tuple[str, ...] = ()
    """The columns by which its rows lie, if it has an index."""

    origin: int | None = None
    """The id that readers know the query by, when it was altered since it was registered."""

    complete_from: Callable[[int, int], int | None] = field(
        default=lambda _instant, _epoch: None, compare=False
    )
    """Gives for an instant, and the epoch that ran the query up to it, the instant from which on it has seen all
    tuples of its streams; None when its windows reach no further back."""

    kept: Callable[[int, int], Mapping[str, float]] = field(
        default=lambda _instant, _epoch: {}, compare=False
    )
    """Gives for an instant, and the epoch that ran the query up to it, the least share that its drop boxes have
    kept of what its windows may hold, by stream; nothing when it has no boxes."""

    @property
    def readers_id(self) -> int:
        """The id that the places of readers are kept under."""
        return self.id if self.origin is None else self.origin

    def lookup_of(self, condition: Expression) -> KeyLookup:
        """How the rows are found for which a condition is true."""
        types = {f.name: f.type for f in self.plan.schema}
        return KeyLookup.of(condition, [(name, types[name]) for name in self.index])

    @property
    def schema(self) -> pa.Schema:
        return self.plan.schema.arrow

    def is_in(self, epoch: int) -> bool:
        """Whether an epoch has the query."""
        return self.first_epoch is not None and epoch >= self.first_epoch

    def ran_by(self, record: EpochRecord) -> QueryProgress | None:
        """What the last epoch up to this one that ran the query did to it; None when there was none yet."""
        return record.queries[self.running] if self.is_in(record.epoch) else None

    def begins_in(self, ran: QueryProgress) -> bool:
        return ran.epoch == self.first_epoch

    def is_whole_first_in(self, ran: QueryProgress) -> bool:
        """Whether an epoch that ran the query is the first at whose end the answer is whole."""
        return self.begins_in(ran) or ran.since < self.whole_from

    def as_of(self, ran: QueryProgress, instant: int) -> int:
        """The instant that the answer belongs to which an epoch has left for some instant."""
        if self.is_refreshed:
            refreshed = ran.refreshed.get(self.id)
            return BEGINNING if refreshed is None else refreshed.slide
        return last_slide(self.plan, instant)

    @cached_property
    def is_known_between_clocks(self) -> bool:
        if self.is_refreshed:
            return False
        return self.every_instant or is_known_at_every_instant(self.plan)
