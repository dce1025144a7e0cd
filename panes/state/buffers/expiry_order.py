"""The rows of a chunk in the order in which they leave, for chunks that lie in another order.

A chunk that straddles the clock is read whole while few spans are left of it. Otherwise its rows are ordered once,
and every span finds the rows that leave in it by bisection. So a row is read at most `_FEW_SPANS` times for
expiry, and then once more when it leaves, however short the spans are and however many rows the chunk has. A chunk
that is likely to be merged soon can be read whole in some first spans too: an order of it would hardly be used.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from panes.delta.delta import BEGINNING, EXP, FOREVER, Instants
from panes.delta.rows import Positions
from panes.state.buffers.chunk import Chunk

_FEW_SPANS = 16
"""To order rows takes about as long as reading them that many times."""
_FEWEST_ROWS = 1_024
_BITS = 15
_BEYOND, _NEVER = 1 << _BITS, (1 << 16) - 1
"""The places of instants after the last one at which a row leaves, and of rows that never leave."""


@dataclass(frozen=True)
class ExpiryOrder:
    """Positions of rows by `_exp`, as exactly as 15 bits tell: rows of one place lie in any order.

    Sixteen bits are sorted by counting, several times as fast as whole instants. It is made in this process
    when it is first needed, lives as long as its chunk, and is never stored.
    """

    exp: Instants
    low: int
    shift: int
    places: npt.NDArray[np.uint16]
    """Of the rows in this order."""
    order: npt.NDArray[np.int32]

    @classmethod
    def of(cls, exp: Instants) -> ExpiryOrder:
        finite = exp[exp < FOREVER]
        low, high = (int(finite.min()), int(finite.max())) if len(finite) else (0, 0)
        shift = max(0, (high - low).bit_length() - _BITS)
        places = np.where(exp < FOREVER, (exp - low) >> shift, _NEVER).astype(np.uint16)
        order = np.argsort(places, kind="stable").astype(np.int32)
        return cls(exp, low, shift, places[order], order)

    def due(self, already: int, now: int) -> Positions:
        """The rows with `already < _exp <= now`, in the order of the chunk."""
        begin, _ = self._place_of(already)
        _, end = self._place_of(now)
        rows = self.order[begin:end].astype(np.int64)
        exp = self.exp[rows]
        rows = rows[(exp > already) & (exp <= now)]
        rows.sort()
        return rows

    def count_dead(self, now: int) -> int:
        """How many rows have `_exp <= now`."""
        begin, end = self._place_of(now)
        return begin + int(np.count_nonzero(self.exp[self.order[begin:end]] <= now))

    def _place_of(self, instant: int) -> tuple[int, int]:
        """Where the rows lie that leave about then."""
        if instant < self.low:
            return 0, 0
        place = np.uint16(min((instant - self.low) >> self.shift, _BEYOND) if instant < FOREVER else _NEVER)
        return int(np.searchsorted(self.places, place)), int(np.searchsorted(self.places, place, "right"))


_orders: WeakKeyDictionary[Chunk, ExpiryOrder] = WeakKeyDictionary()
_reads: WeakKeyDictionary[Chunk, int] = WeakKeyDictionary()
"""How often chunks that were worth an order were read whole first."""


def order_of(chunk: Chunk, already: int, now: int, *, first_spans: int = 0) -> ExpiryOrder | None:
    """The order of a chunk; None where it is cheaper to read the chunk whole in each span that is left, and in the
    `first_spans` in which it is asked for."""
    order = _orders.get(chunk)
    if order is None and _is_worth_an_order(chunk, already, now):
        reads = _reads.pop(chunk, 0)
        if reads < first_spans:
            _reads[chunk] = reads + 1
            return None
        order = _orders[chunk] = ExpiryOrder.of(chunk.numbers(EXP))
    return order


def _is_worth_an_order(chunk: Chunk, already: int, now: int) -> bool:
    if chunk.rows < _FEWEST_ROWS or already <= BEGINNING:
        return False
    return chunk.high - now > _FEW_SPANS * (now - already)
