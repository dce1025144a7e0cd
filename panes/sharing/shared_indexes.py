"""The queries that share a plan, as tasks see them: the indexes of their predicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from panes.history.retention import Retained
from panes.sharing.query_index import QueryIndex
from panes.sharing.refreshes import Refreshes
from panes.synopses.tuple_measures import Measure


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
class Kept:
    """Which tuples of a stream a store keeps."""

    members: Retained
    """Those that the windows of its queries may hold."""
    all: Retained
    """Those that a query that comes later may want, too: what the stream keeps because of all its readers."""


@dataclass(frozen=True)
class Members:
    """The queries of a group: an index for each stream of the plan."""

    all: ForTasks
    fresh: ForTasks | None = None
    """Of those that begin in this epoch, if there are any."""
    kept: tuple[Kept, ...] = (Kept(Retained(None), Retained(None)),)
    """Of queries that are read from a store: which tuples are kept of each stream that it takes in."""
    refreshes: Refreshes | None = None
    """Of those that are refreshed by deadline: which are in this epoch; None where there are none."""
    measures: tuple[Measure, ...] = ()
    """Of BEGIN … END aggregates: what is kept beside each tuple."""
