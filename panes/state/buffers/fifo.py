"""A list for rows that leave in the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.state.buffers.chunked import POLICY, ChunkedBuffer, Combine


class Fifo(ChunkedBuffer):
    """State of WEAKEST input: appended at one end, dropped at the other.

    Insertion adds a chunk; expiry drops the chunks at the old end and reads the one that straddles the
    instant. No chunk grows beyond a share of the buffer, so what is dead but still lies in the straddling
    one stays below that share, and the number of chunks stays bounded.

    Rows that come out of order are taken as well: their chunk is then dropped when the last of it is dead.
    """

    kind = "list"

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        reason: str = "rows leave first in, first out",
        nulls_equal: bool = False,
        combine: Combine | None = None,
    ) -> None:
        super().__init__(keys, reason=reason, nulls_equal=nulls_equal, combine=combine, policy=_POLICY)


_POLICY = replace(POLICY, most=16_384, share=0.6)
"""Up to `most` rows a chunk costs more to keep than to read; beyond, none grows over that share of the buffer."""
