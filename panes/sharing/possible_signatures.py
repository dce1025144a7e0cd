"""How many signatures tuples can have at most: in how many ways they pass some predicates and fail others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from panes.plan.expressions import Expression, Value
from panes.sharing.predicates import Condition, predicate_of
from panes.synopses.definition import EVERY, NEVER

_OPTIONS = ("eq", "in")


@dataclass(frozen=True)
class _Asked:
    """What is left of a predicate."""

    conditions: tuple[Condition, ...]
    residual: Expression | None

    def options(self, attribute: Expression) -> tuple[Value, ...] | None:
        """The values that an attribute may have; None when it may have any."""
        found = (c.constants for c in self.conditions if c.attribute == attribute and c.op in _OPTIONS)
        return next(found, None)

    def without(self, attribute: Expression) -> _Asked:
        rest = (c for c in self.conditions if c.attribute != attribute or c.op not in _OPTIONS)
        return _Asked(tuple(rest), self.residual)


def possible_signatures(predicates: Iterable[Expression], most: int) -> int:
    """The number of signatures that tuples can have, or more; when it is more than `most`, any number above that.

    An attribute that is compared with values for equality has one of them, or none: so the predicates of different
    values are passed apart. Ranges of an attribute are passed in as many ways as their ends cut it into parts.

    >>> from panes.plan.expressions import Call, Column, Literal
    >>> from panes.plan.types import BIGINT, BOOLEAN
    >>> a = Column(BIGINT, "a")
    >>> possible_signatures([Call(BOOLEAN, "eq", (a, Literal(BIGINT, value))) for value in range(7)], 100)
    8
    """
    asked = [predicate_of(predicate) for predicate in set(predicates) - {EVERY, NEVER}]
    return _count([_Asked(one.conditions, one.residual) for one in asked], most)


def _count(asked: Sequence[_Asked], most: int) -> int:
    attributes = Counter(c.attribute for one in asked for c in one.conditions if c.op in _OPTIONS)
    if not attributes:
        return _ways(asked)
    ((attribute, _),) = attributes.most_common(1)
    free = [one for one in asked if one.options(attribute) is None]
    by_value: dict[Value, list[_Asked]] = {}
    for one in asked:
        for value in one.options(attribute) or ():
            by_value.setdefault(value, []).append(one.without(attribute))
    count = _count(free, most)
    for some in by_value.values():
        if count > most:
            break
        count += _count(some + free, most - count)
    return count


def _ways(asked: Sequence[_Asked]) -> int:
    """The same for predicates without equalities."""
    cuts: dict[Expression, set[object]] = {}
    for condition in (c for one in asked for c in one.conditions):
        cuts.setdefault(condition.attribute, set()).update(_cuts(condition))
    residuals = {one.residual for one in asked if one.residual is not None}
    ways = reduce(lambda product, ends: product * (len(ends) + 1), cuts.values(), 1)
    # Predicates that have nothing in common are passed in no more ways than this.
    return min(ways << len(residuals), 1 << len(set(asked)))


def _cuts(condition: Condition) -> set[object]:
    """Where the values that pass and those that do not meet. NULL is apart from all values."""
    if condition.op in ("is_null", "is_not_null"):
        return {None}
    (value,) = condition.constants
    before, after = ("before", value), ("after", value)
    match condition.op:
        case "lt" | "ge":
            return {None, before}
        case "le" | "gt":
            return {None, after}
    return {None, before, after}
