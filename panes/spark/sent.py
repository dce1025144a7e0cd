"""What reaches tasks in a Spark broadcast, and stays with the worker that has read it: query indexes and plans."""

from __future__ import annotations

import gc
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pyspark import Broadcast

T = TypeVar("T")

_IN_MEMORY = 64
"""The most values that a worker remembers."""

_READ_BETWEEN_LOOKS = 64
"""How many values a worker reads until it looks for garbage among what it has set apart."""

_reads = 0
_read: OrderedDict[tuple[str, str], tuple[int, Any]] = OrderedDict()
"""The number and the value of what this process has last read under each name."""


@dataclass(frozen=True)
class Sent(Generic[T]):
    """A value in a broadcast.

    A worker keeps what it has read for the epochs that follow, until another value has the name. Spark alone would
    not: it takes a broadcast from a worker that runs any task without it.
    """

    name: tuple[str, str]
    """The database, and whose value it is."""
    number: int
    """Another one for every value."""
    broadcast: Broadcast[T] = field(compare=False)

    @property
    def value(self) -> T:
        number, value = _read.get(self.name, (None, None))
        if number != self.number:
            value = self.broadcast.value
            _read[self.name] = self.number, value
            _set_apart()
        _read.move_to_end(self.name)
        while len(_read) > _IN_MEMORY:
            _read.popitem(last=False)
        return value  # type: ignore[return-value]


def _set_apart() -> None:
    """Lets Spark's worker, which looks for garbage after every task, leave out all that is there now. Plans of
    thousands of queries would take it longer than most tasks do."""
    global _reads
    _reads += 1
    if _reads % _READ_BETWEEN_LOOKS == 0:
        gc.unfreeze()
        gc.collect()
    gc.freeze()
