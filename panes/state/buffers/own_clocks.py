"""The clocks of operators that have each their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from panes.delta.delta import BEGINNING
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk
from panes.state.log import MergePolicy

_STEP, _CLOCK = "_step", "_clock"


class OwnClocks(State):
    """A clock for each of some numbered steps: one row each, which is written anew when any of them moves."""

    kind = "clocks"

    def __init__(self, reason: str) -> None:
        super().__init__(MergePolicy(), reason)

    @property
    def clocks(self) -> dict[int, int]:
        """By the number of the step; those that have not begun to move are left out."""
        tables = [chunk.table for chunk in self._log.parts]
        return {
            step: clock
            for table in tables
            for step, clock in zip(table[_STEP].to_pylist(), table[_CLOCK].to_pylist(), strict=True)
        }

    def keep(self, clocks: Mapping[int, int]) -> None:
        """Remembers the clocks of all steps."""
        begun = {step: clock for step, clock in clocks.items() if clock > BEGINNING}
        if begun and begun != self.clocks:
            table = pa.table({_STEP: list(begun), _CLOCK: list(begun.values())})
            self._log.parts = [Chunk.of(table, _STEP)]

    def _merged(self, chunks: Sequence[Chunk]) -> Chunk | None:
        return chunks[-1]
