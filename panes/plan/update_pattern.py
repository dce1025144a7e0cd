"""Update patterns: how rows leave the relation on an edge of a plan."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Pattern(IntEnum):
    MONOTONIC = 0
    """Rows never leave."""
    WEAKEST = 1
    """They leave at a time known when they come, first in first out."""
    WEAK = 2
    """They leave at a time known when they come, in any order."""
    STRICT = 3
    """They leave at a time nobody can know when they come: a retraction must say so."""

    def __str__(self) -> str:
        return self.name


class Labeled(NamedTuple):
    pattern: Pattern
    reason: str


MONOTONIC, WEAKEST, WEAK, STRICT = Pattern.MONOTONIC, Pattern.WEAKEST, Pattern.WEAK, Pattern.STRICT
