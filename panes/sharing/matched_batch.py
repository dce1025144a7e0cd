"""A batch of tuples as the queries of one group see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from panes.sharing.bits import At, Ints, Words
from panes.sharing.matches import Matches
from panes.sharing.member_block import MemberBlock
from panes.sharing.tuple_batch import TupleBatch

STRETCH = 1 << 15
"""Words of bits that are matched at a time, so that they stay in the cache."""


@dataclass(frozen=True)
class MatchedBatch:
    """The slice of a group in the rows of bits of a batch. Bits are computed when they are asked for, a
    part of the tuples at a time: only those of the queries of the group."""

    blocks: tuple[MemberBlock, ...]
    queries: Ints
    """The query of each column of bits; -1 where there is none."""
    batch: TupleBatch
    positions: Ints | None = None
    """Which tuples of the batch, in which order; None: all of them as they are."""

    @property
    def count(self) -> int:
        """The number of tuples."""
        return self.batch.count if self.positions is None else len(self.positions)

    def taken(self, positions: Ints) -> MatchedBatch:
        """Some of the tuples, in another order."""
        return replace(self, positions=positions if self.positions is None else self.positions[positions])

    def match_block(self, number: int, start: int, stop: int) -> Words:
        """The bits of one block for the tuples from `start` to `stop`."""
        bits = np.empty((stop - start, self.blocks[number].words), np.uint64)
        self.blocks[number].match(self.batch, self._at(start, stop), bits)
        return bits

    def match(self, start: int, stop: int) -> Words:
        """The bits of all blocks, side by side, for the tuples from `start` to `stop`."""
        bits = np.empty((stop - start, sum(block.words for block in self.blocks)), np.uint64)
        for first, last in self.stretches(start, stop):
            word = 0
            for block in self.blocks:
                mine = bits[first - start : last - start, word : word + block.words]
                block.match(self.batch, self._at(first, last), mine)
                word += block.words
        return bits

    def matches(self) -> Matches:
        """Which tuples are for which queries."""
        return Matches(self.match(0, self.count), self.queries)

    def stretches(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The tuples from `start` to `stop` in parts of which the bits of a block fit into the cache."""
        length = max(1, STRETCH // max((block.words for block in self.blocks), default=1))
        for first in range(start, stop, length):
            yield first, min(first + length, stop)

    def _at(self, start: int, stop: int) -> At:
        return slice(start, stop) if self.positions is None else self.positions[start:stop]
