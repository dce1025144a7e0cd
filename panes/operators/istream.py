"""The stream of what enters a relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from panes.operators.output_stream import OutputStream


@dataclass
class Istream(OutputStream):
    """The tuples that are in the relation now and were not an instant before.

    Output: one row without end for each copy that enters; MONOTONIC.
    State: the rows that are still to expire, by their expiry.
    Cost: a grouped pass over what comes and what expires.
    """

    def _copies(self, change: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return change
