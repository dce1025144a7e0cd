"""How many rows the join of any of some relations gives and holds, whatever the order in which they are joined.

The size of a join is the product of the sizes of what is joined and of the shares that its conditions leave. Its
rate follows: a result comes with the last of its rows, so λ / W of a join is the sum of λ / W of what is joined
(static-optimization, equations 5 and 6).

Sets of relations are sets of bits: 0b101 is the first and the third.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from panes.optimizer.estimates import Estimate
from panes.optimizer.joined_column import JoinedColumn


@dataclass(frozen=True)
class JoinedCondition:
    """A condition beside equal columns: the relations that it reads, and the share of the rows that pass.

    An equality has the relations of each of its sides: a join of all of the one with all of the other finds its
    pairs by it."""

    relations: int
    share: float
    sides: tuple[int, int] | None = None

    def is_key(self, left: int, right: int) -> bool:
        """Whether a join of some relations with others finds its pairs by it."""
        if self.sides is None:
            return False
        one, other = self.sides
        return not (one & ~left or other & ~right) or not (one & ~right or other & ~left)

    def is_tested(self, left: int, right: int) -> bool:
        """Whether a join of some relations with others is the first that can decide it."""
        return bool(
            not self.relations & ~(left | right) and self.relations & ~left and self.relations & ~right
        )


@dataclass
class JoinedRows:
    """Estimates of joins of relations, each computed once."""

    relations: Sequence[Estimate]
    columns: Sequence[JoinedColumn] = ()
    conditions: Sequence[JoinedCondition] = ()
    _known: dict[int, Estimate] = field(default_factory=dict)

    @property
    def all(self) -> int:
        """The set of all relations."""
        return (1 << len(self.relations)) - 1

    def estimate(self, relations: int) -> Estimate:
        """What is expected of the join of a set of relations."""
        found = self._known.get(relations)
        if found is None:
            found = self._known[relations] = self._estimate(relations)
        return found

    def changes(self, relations: int) -> float:
        """Rows per second that a join of a set gives: those that come, and those that take others back."""
        found = self.estimate(relations)
        return found.rate + found.early

    def keys(self, left: int, right: int) -> int:
        """How many keys the join of two sets has by which it finds its pairs."""
        columns = sum(bool(column.relations & left and column.relations & right) for column in self.columns)
        return columns + sum(condition.is_key(left, right) for condition in self.conditions)

    def has_column_of_all(self, relations: int) -> bool:
        """Whether all relations of a set agree in one column, so that all their joins have it as a key."""
        return any(not relations & ~column.relations for column in self.columns)

    def joins(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The joins of an order: the set of what is joined already, and the next relation."""
        left = 1 << order[0]
        for number in order[1:]:
            yield left, 1 << number
            left |= 1 << number

    def pairs(self, left: int, right: int) -> float:
        """How many pairs per second the join of two sets finds by its keys, before it tests other conditions."""
        rate = self.changes(left | right)
        for condition in self.conditions:
            if condition.is_tested(left, right) and not condition.is_key(left, right) and condition.share:
                rate /= condition.share
        return rate

    def _estimate(self, relations: int) -> Estimate:
        joined = [found for number, found in enumerate(self.relations) if relations >> number & 1]
        if len(joined) == 1:
            return joined[0]
        size = prod(found.size for found in joined)
        for column in self.columns:
            size *= column.share(relations)
        for condition in self.conditions:
            if not condition.relations & ~relations:
                size *= condition.share
        if not size:
            return Estimate(0.0, 0.0)
        rate = sum(found.rate / found.size for found in joined)
        early = sum(found.early / found.size for found in joined)
        return Estimate(size * rate, size, size * early)
