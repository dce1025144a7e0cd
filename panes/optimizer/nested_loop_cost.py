"""What a join of many windows costs that is evaluated by nested loops in one global order (thesis, 5.3.1).

A new tuple of a stream is compared with all of the first other window of the order; each partner that it finds,
with all of the second, and so on. All streams are joined on one column. Values are contained in each other: of two
windows, the one with fewer different values has only such as the other has, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class JoinedStream:
    """A stream that is joined: its tuples per second, the seconds of its window, and the different values of the
    join column in that window."""

    rate: float
    seconds: float
    values: float

    @property
    def size(self) -> float:
        return self.rate * self.seconds


def joined_size(streams: Sequence[JoinedStream]) -> float:
    """How many results the join of some windows has at an instant: φ, whatever their order."""
    size, values = streams[0].size, streams[0].values
    for stream in streams[1:]:
        size *= stream.size / max(values, stream.values)
        values = min(values, stream.values)
    return size


def accesses(order: Sequence[JoinedStream], place: int) -> float:
    """Tuples that are read per second for the new tuples of the stream at a place of the order: X."""
    new = order[place]
    read = 0.0
    found, values = new.rate, new.values
    for stream in (*order[:place], *order[place + 1 :]):
        read += found * stream.size
        found *= stream.size / max(values, stream.values)
        values = min(values, stream.values)
    return read


def nested_loop_cost(order: Sequence[JoinedStream]) -> float:
    """Tuples that are read per second in all."""
    return sum(accesses(order, place) for place in range(len(order)))
