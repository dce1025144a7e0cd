"""Drop boxes that are set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from panes.optimizer.shedding.posynomial import Box

ROUNDING = 1e-9
"""How far above the capacity a cost may lie that was computed to be equal to it, as a share."""


@dataclass(frozen=True)
class Boxes:
    """The share of its tuples that each drop box lets pass, between 0 and 1, and what the plans cost then.

    The cost is at most the capacity, unless the tuples that no box can drop cost more; then `fits` is false.
    """

    kept: Mapping[Box, float]
    cost: float
    capacity: float

    def share(self, box: Box) -> float:
        """What a box keeps; a box that costs nothing keeps everything."""
        return self.kept.get(box, 1.0)

    @property
    def fits(self) -> bool:
        return self.cost <= self.capacity * (1 + ROUNDING)

    @property
    def is_shedding(self) -> bool:
        return any(share < 1 for share in self.kept.values())
