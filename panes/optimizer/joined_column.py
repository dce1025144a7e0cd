"""Which share of all combinations of rows agrees in one column, the same for every order of joins.

Of relations that are equal in one column, with v₁ ≥ v₂ ≥ … ≥ vₙ different values, the share is 1 / (v₁ v₂ … vₙ₋₁):
of two, the one with fewer values has only such as the other has (thesis, 5.3.1: φ12 has 1 / max(v₁, v₂), and
min(v₁, v₂) values go on). That is the product along the spanning tree of greatest shares, where two relations have
1 / max(v, v') or what was measured of them. So measured shares of pairs can be put together as assumed ones.

Sets of relations are sets of bits: 0b101 is the first and the third.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod


@dataclass(frozen=True)
class JoinedColumn:
    """A column on which relations are joined: its different values in each that has it, by the number of the
    relation, and where more is known of the join of two of them, the share of all pairs of rows that it gives."""

    values: Mapping[int, float]
    ties: Mapping[tuple[int, int], float] = field(default_factory=dict)
    _known: dict[int, float] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def relations(self) -> int:
        """The set of those that have it."""
        return sum(1 << number for number in self.values)

    def share(self, relations: int) -> float:
        """The share of all combinations of rows of some relations that agree in this column.

        Where a relation can be tied to several others, the least selective tie counts: values are contained in
        each other.
        """
        relations &= self.relations
        found = self._known.get(relations)
        if found is None:
            found = self._known[relations] = self._share(relations)
        return found

    def _share(self, relations: int) -> float:
        here = [number for number in self.values if relations >> number & 1]
        if len(here) < 2:
            return 1.0
        if not self.ties:
            found = [self.values[number] for number in here]
            return min(found) / prod(found)
        share, trees = 1.0, {number: number for number in here}
        pairs = [(one, other) for one in here for other in here if one < other]
        for pair in sorted(pairs, key=self._tie, reverse=True):
            one, other = (trees[number] for number in pair)
            if one != other:
                share *= self._tie(pair)
                trees = {number: one if tree == other else tree for number, tree in trees.items()}
        return share

    def _tie(self, pair: tuple[int, int]) -> float:
        known = self.ties.get(pair)
        return 1 / max(self.values[number] for number in pair) if known is None else known
