"""Which answers of the queries that share a store an epoch refreshes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from panes.delta.delta import BEGINNING


class Refresh(NamedTuple):
    """A query whose answer is refreshed, its window, and after how many updates of the store it asks for that."""

    query: int
    range_us: int
    period: int
    right_us: int | None = None
    """Of a join the window of the right stream; the other one is that of the left."""


@dataclass(frozen=True)
class Refreshes:
    """What the driver has decided before the epoch: all shards refresh the same answers, for the last pane that
    ends by the clock of the epoch."""

    pane_us: int
    batches: tuple[tuple[Refresh, ...], ...] = ()
    """Those of a batch are refreshed together."""
    shown: Mapping[int, int] = field(default_factory=dict)
    """Of which slide the stored answer of each query is before the epoch; of no other query an answer is kept."""

    def due(self, clock: int) -> tuple[int, list[list[Refresh]]]:
        """The slide that answers are refreshed for in an epoch that ends at a clock, and the batches, without the
        answers that are of this slide already: nothing that came since can be in them."""
        slide = clock - clock % self.pane_us
        batches = [
            [one for one in batch if self.shown.get(one.query, BEGINNING) < slide] for batch in self.batches
        ]
        return slide, [batch for batch in batches if batch]

    def shown_after(self, clock: int) -> dict[int, int]:
        """Of which slide each stored answer is after the epoch."""
        slide, batches = self.due(clock)
        return {**self.shown, **{one.query: slide for batch in batches for one in batch}}


class Probes(NamedTuple):
    """What it took to refresh answers on a shard: to go over panes, and to store what was found."""

    panes: int
    scan_us: float
    answers: int
    store_us: float
