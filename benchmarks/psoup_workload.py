"""The workload of the PSoup paper: tuples of small integers, selections of them and joins.

Values are uniform in 0..255. The constant of an interval is a multiple of 32 with probability 0.2 (some items are
more interesting than others) and any value else; the length of an interval is uniform too. A selection has an
interval on one to four attributes, or, for equality, a constant each.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pyarrow as pa

ATTRIBUTES = ("a", "b", "c", "d")
START_MS = 1_700_000_000_000
STREAM = "CREATE STREAM r (at BIGINT, a INT, b INT, c INT, d INT) TIMESTAMP BY at MILLISECONDS"
SECOND_STREAM = STREAM.replace("STREAM r", "STREAM q")


def constant(random: Random) -> int:
    """What an attribute is compared with."""
    return random.randrange(0, 256, 32) if random.random() < 0.2 else random.randrange(256)


def conditions(random: Random, count: int | None = None, *, is_equality: bool = False) -> str:
    """The WHERE clause of a selection, on that many attributes, or on one to four."""
    parts = []
    for attribute in random.sample(ATTRIBUTES, count or random.randint(1, len(ATTRIBUTES))):
        low = constant(random)
        high = min(255, low + random.randrange(256))
        parts.append(f"{attribute} = {low}" if is_equality else f"{attribute} BETWEEN {low} AND {high}")
    return " AND ".join(parts)


def selections(
    window: str, seed: int = 7, count: int | None = None, *, is_equality: bool = False
) -> Iterator[str]:
    """Selections without end."""
    random = Random(seed)
    while True:
        chosen = conditions(random, count, is_equality=is_equality)
        yield f"SELECT at, a, b FROM r [{window}] WHERE {chosen}"


def joins(window: str, seed: int = 7) -> Iterator[str]:
    """Joins of two streams by inequality without end, each over one window of both."""
    random = Random(seed)
    while True:
        yield (
            f"SELECT r.a, q.b FROM r [{window}], q [{window}] "
            f"WHERE r.a > q.b AND r.a < q.b + {constant(random)}"
        )


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
