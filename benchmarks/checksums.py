"""Checksums of answers that do not depend on the order of rows, so that engines can be compared exactly.

Every part of a checksum is a sum over slides k and over the rows of the answer at k, of something that is linear
in k: `constant + slope · k`. So an engine that gives whole answers adds them up slide by slide (`of_answer`), and
one that gives changes adds each change once, for all the slides that follow it (`of_changes`). The sums are 64-bit
integers that may wrap around on the way; what comes out does not exceed them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Part = tuple[Numbers, Numbers | int]
"""Constant and slope of each row."""

EXPECTED: dict[str, str] = json.loads(
    (Path(__file__).parent / "expected_checksums.json").read_text(encoding="utf-8")
)
"""By workload and number of rows: `W1:2000000`."""


@dataclass
class Checksum:
    """Sums, of as many parts as a workload has."""

    sums: list[int] = field(default_factory=list)

    def add(self, *parts: int) -> None:
        self.sums = self.sums or [0] * len(parts)
        self.sums = [total + int(part) for total, part in zip(self.sums, parts, strict=True)]

    @property
    def text(self) -> str:
        return "|".join(map(str, self.sums))


def of_answer(parts: Sequence[Part], k: int) -> list[int]:
    """What the answer at slide k adds."""
    return [int(np.sum(constant + slope * k)) for constant, slope in parts]


def of_changes(parts: Sequence[Part], k: Numbers, weight: Numbers, last: int) -> list[int]:
    """What changes add: a row that comes at slide k is in the answers of k, k + 1 and so on to `last`."""
    seen = k <= last
    slides = np.where(seen, last - k + 1, 0)
    sum_of_slides = np.where(seen, (last * (last + 1) - k * (k - 1)) // 2, 0)
    return [int(np.sum(weight * (constant * slides + slope * sum_of_slides))) for constant, slope in parts]


def groups(src: Numbers, count: Numbers, total: Numbers) -> list[Part]:
    """W1: rows, their counts, their sums, and a hash of all three columns."""
    mixed = count + total % 9973
    return [(np.ones_like(src), 0), (count, 0), (total, 0), ((src + 1) * mixed, 5003 * mixed)]


def number(count: Numbers) -> list[Part]:
    """W3 and W4: a number for each slide, and the number weighted by the slide."""
    return [(count, 0), (np.zeros_like(count), count)]


def standing(query: Numbers, count: Numbers) -> list[Part]:
    """W5: the counts of all queries, and a hash of query and count."""
    return [(count, 0), ((query + 1) * count, 1009 * count)]


def ranked(rank: Numbers, src: Numbers, count: Numbers) -> list[Part]:
    """W6: rows, counts, and a hash of rank, source and count; ranks from 1, ties by the smaller source."""
    return [(np.ones_like(src), 0), (count, 0), ((rank + 11 * (src + 1)) * count, 60_000 * count)]
