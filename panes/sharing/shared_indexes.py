"""The queries that share a plan, as tasks see them: their slices of the indexes of streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from panes.history.retention import Retained
from panes.sharing.index_slice import IndexSlice
from panes.sharing.query_index import QueryIndex, SliceKey
from panes.sharing.refreshes import Refreshes
from panes.synopses.tuple_measures import Measure


class ForTasks(Protocol):
    """An index itself on the driver; in tasks, where to get it from."""

    @property
    def value(self) -> QueryIndex: ...


@dataclass(frozen=True, eq=False)
class Indexed:
    """The index of a stream for one set of queries: an object of this class is equal to itself alone."""

    value: QueryIndex


@dataclass(frozen=True)
class SharedSlice:
    """The slice of a group in the index of a stream, as tasks get it: with the index of all groups."""

    index: ForTasks
    key: SliceKey

    @property
    def value(self) -> IndexSlice:
        return self.index.value.slices[self.key]


Slices = tuple[SharedSlice, ...]
"""The slices of a group, by scan number."""


@dataclass(frozen=True)
class Kept:
    """Which tuples of a stream a store keeps."""

    members: Retained
    """Those that the windows of its queries may hold."""
    all: Retained
    """Those that a query that comes later may want, too: what the stream keeps because of all its readers."""


@dataclass(frozen=True)
class Members:
    """The queries of a group: a slice of an index for each stream of the plan that they are matched with."""

    all: Slices = ()
    fresh: Slices | None = None
    """Of those that begin in this epoch, if there are any."""
    kept: tuple[Kept, ...] = (Kept(Retained(None), Retained(None)),)
    """Of queries that are read from a store: which tuples are kept of each stream that it takes in."""
    refreshes: Refreshes | None = None
    """Of those that are refreshed by deadline: which are in this epoch; None where there are none."""
    measures: tuple[Measure, ...] = ()
    """Of BEGIN … END aggregates: what is kept beside each tuple."""
