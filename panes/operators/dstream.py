"""The stream of what leaves a relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from panes.operators.output_stream import OutputStream


@dataclass
class Dstream(OutputStream):
    """The tuples that were in the relation an instant before and are no more.

    Output: one row without end for each copy that leaves; MONOTONIC.
    State: the rows that are still to expire, by their expiry.
    Cost: a grouped pass over what comes and what expires.
    """

    def _copies(self, change: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return -change
