"""The workload of the PSoup paper: tuples of small integers, and selections by intervals of them.

Values are uniform in 0..255. The constant of an interval is a multiple of 32 with probability 0.2 (some items are
more interesting than others) and any value else; the length of an interval is uniform too. A selection has an
interval on one to four attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pyarrow as pa

ATTRIBUTES = ("a", "b", "c", "d")
START_MS = 1_700_000_000_000
STREAM = "CREATE STREAM r (at BIGINT, a INT, b INT, c INT, d INT) TIMESTAMP BY at MILLISECONDS"


def conditions(random: Random) -> str:
    """The WHERE clause of a selection."""
    parts = []
    for attribute in random.sample(ATTRIBUTES, random.randint(1, len(ATTRIBUTES))):
        low = random.randrange(0, 256, 32) if random.random() < 0.2 else random.randrange(256)
        high = min(255, low + random.randrange(256))
        parts.append(f"{attribute} BETWEEN {low} AND {high}")
    return " AND ".join(parts)


def selections(window: str, seed: int = 7) -> Iterator[str]:
    """Selections without end."""
    random = Random(seed)
    while True:
        yield f"SELECT at, a, b FROM r [{window}] WHERE {conditions(random)}"


class Tuples:
    """Tuples without end, one per millisecond."""

    def __init__(self, seed: int = 3) -> None:
        self._chance = np.random.default_rng(seed)
        self._next = START_MS

    def take(self, count: int) -> pa.Table:
        at = np.arange(self._next, self._next + count)
        self._next += count
        values = {name: self._chance.integers(0, 256, count, dtype=np.int32) for name in ATTRIBUTES}
        return pa.table({"at": at, **values})
