"""The cells of a doubly partitioned index: in which of them a row lies, by when it comes and when it leaves.

Rows are divided by the pane in which they come into G parts, and by the pane in which they leave into E parts:
G·E cells (g, e). What comes in one pane lies in the E cells of one g, and what leaves in one pane in the G cells
of one e, so an update of the index touches G + E - 1 cells however long rows live. An index that is partitioned
by one of the two alone (`4x1`, `1x4`) touches all of its cells: that is the wave index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from panes.delta.delta import Instants

Order = Literal["round_robin", "chronological"]

_PANES_PER_PART = 4
"""A part has at least that many panes of the longest lifetime: an update then concerns few of them."""


@dataclass(frozen=True)
class IndexCells:
    """G parts by the time of coming and E parts by that of leaving.

    `round_robin`: panes that follow each other are in different parts, so that cells are of about one size.
    `chronological`: a part is one range of time, a G-th or an E-th of the longest lifetime.
    """

    comings: int
    leavings: int
    order: Order = "round_robin"
    updates: int | None = None
    """The number of updates in the longest lifetime; None: as many as leave each part some panes."""

    @classmethod
    def of(cls, text: str, order: Order = "round_robin") -> IndexCells:
        """The cells that a text says.

        >>> IndexCells.of("4x3").count
        12
        """
        comings, leavings = text.split("x")
        return cls(int(comings), int(leavings), order)

    @property
    def count(self) -> int:
        return self.comings * self.leavings

    @property
    def per_update(self) -> int:
        """The number of cells that an update concerns when panes are updated one by one."""
        return self.comings + self.leavings - 1

    @property
    def panes(self) -> int:
        """The number of panes in the longest lifetime."""
        return self.updates or _PANES_PER_PART * max(self.comings, self.leavings)

    def pane_for(self, longest: int) -> int:
        """The length of a pane when no row lives longer than that: a power of two, so that it seldom changes.

        >>> IndexCells.of("2x2").pane_for(longest=8_000)
        1024
        """
        shortest = -(-longest // self.panes)
        return 1 << max(0, shortest - 1).bit_length()

    def cell_of(self, ts: Instants, exp: Instants, pane: int) -> npt.NDArray[np.int64]:
        """The cell of each row, from 0 on, when panes have that length."""
        by_coming, by_leaving = pane, pane
        if self.order == "chronological":
            by_coming = max(1, self.panes * pane // self.comings)
            by_leaving = max(1, self.panes * pane // self.leavings)
        g = ts // by_coming % self.comings
        e = exp // by_leaving % self.leavings
        cells: npt.NDArray[np.int64] = g * self.leavings + e
        return cells
