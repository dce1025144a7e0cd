"""Query indexes on their way to tasks, in a Spark broadcast."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark import Broadcast

from panes.sharing.query_index import QueryIndex

_GROUPS_IN_MEMORY = 64
"""The most groups that a worker remembers."""

_read: OrderedDict[tuple[str, int], tuple[int, Sequence[QueryIndex]]] = OrderedDict()
"""The number and the value of the last indexes of each group that this process has read."""


@dataclass(frozen=True)
class SentIndexes:
    """The indexes of a group, in a broadcast.

    A worker keeps what it has read for the epochs that follow, until the group has other queries. Spark alone
    would not: it takes a broadcast from a worker that runs any task without it.
    """

    group: tuple[str, int]
    """The database and the group."""
    number: int
    """Another one for every set of queries."""
    broadcast: Broadcast[Sequence[QueryIndex]] = field(compare=False)

    @property
    def value(self) -> Sequence[QueryIndex]:
        number, value = _read.get(self.group, (None, ()))
        if number != self.number:
            value = self.broadcast.value
            _read[self.group] = self.number, value
        _read.move_to_end(self.group)
        while len(_read) > _GROUPS_IN_MEMORY:
            _read.popitem(last=False)
        return value
