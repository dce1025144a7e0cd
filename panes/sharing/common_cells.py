"""The cells of attributes that blocks of queries have in common: a value is looked up once for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from panes.plan.expressions import Expression
from panes.sharing.member_block import Attribute, MemberBlock
from panes.sharing.value_cells import Places, ValueCells


class CommonCells:
    """The constants of all blocks, attribute by attribute.

    Each block has cells of its own, so that a query that comes or goes touches no other block. The common cells
    are finer: each lies in one cell of every block, which is found without looking at the value again.
    """

    def __init__(self, blocks: Sequence[MemberBlock]) -> None:
        found: dict[Expression, list[ValueCells]] = {}
        for block in blocks:
            for attribute in block.attributes:
                found.setdefault(attribute.expression, []).append(attribute.cells)
        self._cells = {
            expression: cells[0] if len(cells) == 1 else ValueCells.common(cells)
            for expression, cells in found.items()
        }
        self._inside: dict[int, Places | None] = {}
        """By the number of the object that has the cells of a block; the blocks are kept with their index."""

    @property
    def attributes(self) -> int:
        """The number of attributes that are looked up."""
        return len(self._cells)

    def of(self, expression: Expression) -> ValueCells:
        """The common cells of an attribute."""
        return self._cells[expression]

    def inside(self, attribute: Attribute) -> Places | None:
        """For each common cell the one of a block that it lies in; None where these are the same."""
        number = id(attribute.cells)
        if number not in self._inside:
            common = self._cells[attribute.expression]
            self._inside[number] = None if common is attribute.cells else attribute.cells.around(common)
        return self._inside[number]
