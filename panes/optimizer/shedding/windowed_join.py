"""A join of windows, with a drop box at each of its streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from panes.optimizer.shedding.posynomial import Box, Posynomial


@dataclass(frozen=True)
class WindowedStream:
    """A stream that is joined: its drop box, its tuples per second, and its window in tuples or in seconds."""

    box: Box
    rate: float
    rows: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.seconds is None):
            raise ValueError(f"the window of {self.box} is given in rows or in seconds")

    @cached_property
    def kept_rate(self) -> Posynomial:
        """Tuples per second behind the box."""
        return self.rate * Posynomial.share(self.box)

    @cached_property
    def kept_size(self) -> Posynomial:
        """Tuples in the window: a window in ROWS is full whatever is dropped, a window in RANGE shrinks."""
        if self.rows is not None:
            return Posynomial.constant(self.rows)
        assert self.seconds is not None
        return self.kept_rate * self.seconds


@dataclass(frozen=True)
class WindowedJoin:
    """A join of windows: its streams, and the selectivities of pairs of boxes.

    A pair without a selectivity is not joined by any condition: it is a product.
    """

    streams: tuple[WindowedStream, ...]
    selectivities: Mapping[frozenset[Box], float]
    _rates: dict[frozenset[Box], Posynomial] = field(default_factory=dict, compare=False, repr=False)

    @property
    def output(self) -> Posynomial:
        """Results per second."""
        return self.rate(stream.box for stream in self.streams)

    def rate(self, boxes: Iterable[Box]) -> Posynomial:
        """Results per second of the join of some streams, whatever the order (eq. 5)."""
        chosen = frozenset(boxes)
        if chosen not in self._rates:
            streams = [stream for stream in self.streams if stream.box in chosen]
            rate = Posynomial.sum(
                _product([other.kept_size for other in streams if other is not stream], stream.kept_rate)
                for stream in streams
            )
            self._rates[chosen] = rate * self._selectivity(chosen)
        return self._rates[chosen]

    def are_joined(self, boxes: Iterable[Box], box: Box) -> bool:
        """Whether a condition joins a box with one of some boxes."""
        return any(frozenset((other, box)) in self.selectivities for other in boxes)

    def _selectivity(self, boxes: frozenset[Box]) -> float:
        share = 1.0
        for pair, selectivity in self.selectivities.items():
            share *= selectivity if pair <= boxes else 1.0
        return share


def _product(factors: Iterable[Posynomial], start: Posynomial) -> Posynomial:
    for factor in factors:
        start = start * factor
    return start
