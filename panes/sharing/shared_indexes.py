"""The queries that share a plan, as tasks see them: the indexes of their predicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from panes.history.retention import Retained
from panes.sharing.query_index import QueryIndex


class ForTasks(Protocol):
    """The indexes themselves on the driver; in tasks, where to get them from."""

    @property
    def value(self) -> Sequence[QueryIndex]: ...


@dataclass(frozen=True, eq=False)
class Indexes:
    """The indexes of a set of queries, by scan number.

    An object of this class stands for one set of queries: it is equal to itself alone.
    """

    value: Sequence[QueryIndex]


@dataclass(frozen=True)
class Members:
    """The queries of a group: an index for each stream of the plan."""

    all: ForTasks
    fresh: ForTasks | None = None
    """Of those that begin in this epoch, if there are any."""
    retained: Retained = field(default_factory=lambda: Retained(None))
    """Of selections: which tuples are kept."""
