"""A list for rows that leave in the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.state.buffers.chunked import ChunkedBuffer, Combine


class Fifo(ChunkedBuffer):
    """State of WEAKEST input: appended at one end, dropped at the other.

    Insertion adds a chunk; expiry drops the chunks at the old end and reads the one that straddles the
    instant. No chunk grows beyond a `share` of the buffer, so what is dead but still lies in the straddling
    one stays below that share, and the number of chunks stays bounded.

    Rows that come out of order are taken as well: their chunk is then dropped when the last of it is dead.
    """

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        nulls_equal: bool = False,
        combine: Combine | None = None,
        share: float = 0.6,
    ) -> None:
        super().__init__(keys, nulls_equal=nulls_equal, combine=combine)
        self._share = share

    def insert(self, rows: pa.Table) -> None:
        if rows.num_rows:
            self._chunks.append(self._chunk(self._clustered(rows)))
            most = max(_ALWAYS_MERGED, int(self._share * self.rows))
            self._merge_young_end(self._chunks, most)


_ALWAYS_MERGED = 16_384
"""Below this many rows a chunk costs more to keep than to read."""
