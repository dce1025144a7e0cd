"""Cutting a long span into shorter ones, for operators whose cost grows with the square of what it holds.

Two rows of one key are compared although they never live at the same time, when both come in one span. In spans
that are no longer than a lifetime, few such pairs are left. Where a span is cut makes no difference to the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from panes.delta.delta import Delta
from panes.delta.rows import take

_FEWEST_ROWS = 20_000
_MOST_PIECES = 64


def cuts_of(deltas: Sequence[Delta]) -> list[int]:
    """The instants at which to cut, a lifetime apart; none when it would save nothing."""
    if sum(delta.rows for delta in deltas) < _FEWEST_ROWS:
        return []
    some = [delta for delta in deltas if delta.rows]
    first, last = min(int(d.ts.min()) for d in some), max(int(d.ts.max()) for d in some)
    # Lifetimes of a row that nothing ends are as long as numbers are: no piece is longer then.
    longest = max(int((d.exp.astype(np.float64) - d.ts).max()) for d in some)
    pieces = min((last - first) // max(longest, 1), _MOST_PIECES)
    if pieces < 3:
        return []
    step = (last - first) // pieces
    return [first + step * number for number in range(1, pieces)]


def split_span(delta: Delta, ends: Sequence[int]) -> list[Delta]:
    """The rows up to each end, after the one before."""
    ts, table = delta.ts, delta.table
    if (ts[1:] < ts[:-1]).any():
        order = np.argsort(ts, kind="stable")
        ts, table = ts[order], take(table, order)
    places = np.searchsorted(ts, ends, side="right")
    begins = [0, *places[:-1]]
    return [
        Delta(table.slice(int(begin), int(end - begin)), clock)
        for begin, end, clock in zip(begins, places, ends, strict=True)
    ]
