"""A batch of tuples on its way through an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from panes.delta.evaluate import evaluate
from panes.sharing.bits import Ints, Words
from panes.sharing.member_block import MemberBlock
from panes.sharing.value_cells import AttributeValues

STRETCH = 2048
"""Tuples that are matched at a time, so that their bits stay in the cache."""


class TupleBatch:
    """Tuples, and the cells in which their attributes lie, for each block of an index."""

    def __init__(self, rows: pa.Table, blocks: Sequence[MemberBlock]) -> None:
        self.rows = rows
        self.blocks = blocks
        expressions = {attribute.expression for block in blocks for attribute in block.attributes}
        values = {e: AttributeValues.of(evaluate(e, rows), e.type) for e in expressions}
        self._cells: list[list[Ints]]
        self._cells = [[a.cells.locate(values[a.expression]) for a in block.attributes] for block in blocks]

    @property
    def words(self) -> int:
        return sum(block.words for block in self.blocks)

    def match_block(self, number: int, start: int, stop: int) -> Words:
        """The bits of one block for the tuples from `start` to `stop`."""
        bits = np.empty((stop - start, self.blocks[number].words), np.uint64)
        self.blocks[number].match(self._cells[number], self.rows, start, bits)
        return bits

    def match(self, start: int, stop: int) -> Words:
        """The bits of all blocks, side by side, for the tuples from `start` to `stop`."""
        bits = np.empty((stop - start, self.words), np.uint64)
        for first, last in self.stretches(start, stop):
            word = 0
            for cells, block in zip(self._cells, self.blocks, strict=True):
                mine = bits[first - start : last - start, word : word + block.words]
                block.match(cells, self.rows, first, mine)
                word += block.words
        return bits

    def stretches(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The tuples from `start` to `stop` in parts of which the bits fit into the cache."""
        for first in range(start, stop, STRETCH):
            yield first, min(first + STRETCH, stop)
