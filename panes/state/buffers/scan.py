"""One pile of rows that is read whole: the buffer of the DIRECT approach, kept to be compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from panes.delta.hashing import HASH
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import ChunkedBuffer, Combine, Match, verified
from panes.state.buffers.hash_search import find_each, hashes_of


class Scan(ChunkedBuffer):
    """Rows of which nothing says where a key is, or which leave next.

    Every probe and every expiry reads all rows.
    """

    kind = "scan"

    def __init__(
        self,
        keys: Sequence[str] | None = None,
        *,
        reason: str = "read whole (direct)",
        nulls_equal: bool = False,
        combine: Combine | None = None,
    ) -> None:
        super().__init__(keys, reason=reason, nulls_equal=nulls_equal, combine=combine)

    def matches(self, needles: pa.Table, names: Sequence[str]) -> Iterator[Match]:
        assert self.keys is not None, "this buffer has no keys to probe by"
        for chunk in self._log.parts:
            self.touched += chunk.rows
            stored_at, at = find_each(hashes_of(needles), chunk.numbers(HASH))
            match = verified(
                needles, at, names, chunk.table, stored_at, self.keys, nulls_equal=self.nulls_equal
            )
            if len(match[2]):
                yield match

    def _is_reached(self, chunk: Chunk, now: int) -> bool:  # noqa: ARG002
        return True

    def _order_of(self, chunk: Chunk, already: int, now: int) -> None:  # noqa: ARG002
        return None
