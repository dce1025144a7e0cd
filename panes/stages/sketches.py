"""The sketches that one task makes of the keys of inputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from panes.aggregates.distinct_sketch import Registers, distinct_sketch
from panes.delta.hashing import Hashes
from panes.stages.exchange import SKETCH, Message


class Sketches:
    """Sketches by the number of the input, with how many rows each is of."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Registers, int]] = {}

    def add(self, input_: int, hashes: Hashes) -> None:
        """Adds the keys of rows of an input."""
        registers, rows = distinct_sketch(hashes), len(hashes)
        if input_ in self._found:
            before, count = self._found[input_]
            registers, rows = np.maximum(before, registers), count + rows
        self._found[input_] = registers, rows

    def messages(self) -> Iterator[Message]:
        """What the driver is told."""
        for number, (registers, rows) in self._found.items():
            yield Message(0, SKETCH, {"input": number, "rows": rows}, pa.py_buffer(registers))
