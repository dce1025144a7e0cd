"""Signatures: the distinct rows of bits that say which of some predicates tuples pass.

Bit i of byte k of a signature is predicate 8 k + i.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.rows import take
from panes.plan.nodes import SIGNATURE
from panes.sharing.bits import unpacked
from panes.sharing.matches import Matches


def signed_rows(rows: pa.Table, matches: Matches, count: int) -> pa.Table:
    """The rows that pass any of a number of predicates, with their signatures in front."""
    passing = np.flatnonzero(matches.is_for_any)
    bits = np.ascontiguousarray(matches.bits[passing])
    # Rows of bits are compared as wholes.
    whole = bits.view(np.dtype((np.void, bits.shape[1] * bits.itemsize))).reshape(-1)
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    flags = np.zeros((len(first), count), np.uint8)
    there = np.flatnonzero(matches.queries >= 0)
    flags[:, matches.queries[there]] = unpacked(bits[first])[:, there]
    packed = np.packbits(flags, axis=1, bitorder="little")
    names = pa.array([row.tobytes() for row in packed], pa.binary())
    signatures = names.take(pa.array(place.reshape(-1)))
    return take(rows, passing).add_column(0, SIGNATURE, signatures)
