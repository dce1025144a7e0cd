"""Conditions that compare the two sides of a join, as a band: how far one value may lie from the other."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from math import inf, isfinite

from panes.plan.can_fail import can_fail
from panes.plan.durations import length_us
from panes.plan.expressions import Call, Expression, Literal, columns_of, conjuncts
from panes.plan.types import BOOLEAN, DATE, FLOAT, INTERVAL, STRING, TIMESTAMP, Type

Shift = int | float
"""A distance of values: whole for integers, times and intervals, which are in microseconds."""

_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@dataclass(frozen=True)
class Band:
    """All pairs that pass some conditions have `left + low <= right <= left + high`.

    It is no test but a place to search: pairs at its ends may still fail the conditions.
    """

    left: Expression
    right: Expression
    low: Shift = -inf
    high: Shift = inf
    size: float = 0.0
    """The sum of the constants that the conditions add to values: what rounding may depend on."""
    conditions: tuple[Expression, ...] = ()

    @property
    def is_two_sided(self) -> bool:
        return -inf < self.low and self.high < inf

    def flipped(self) -> Band:
        """The same with the sides in the other order."""
        return replace(self, left=self.right, right=self.left, low=-self.high, high=-self.low)


def band_of(condition: Expression | None, left: Set[str], right: Set[str]) -> Band | None:
    """The band in which pairs lie that pass a condition, over columns of the left and of the right; None when it
    has no comparison of the two. Of several bands one that has two ends is taken, or the first.

    Values that it compares are computed of every row, so that nothing may be in it that can fail.
    """
    found: dict[tuple[Expression, Expression], Band] = {}
    for part in conjuncts(condition):
        for band in _bands(part, left, right):
            known = found.get((band.left, band.right))
            found[band.left, band.right] = band if known is None else _both(known, band)
    bands = list(found.values())
    return next((band for band in bands if band.is_two_sided), bands[0] if bands else None)


def _both(one: Band, other: Band) -> Band:
    return replace(
        one,
        low=max(one.low, other.low),
        high=min(one.high, other.high),
        size=max(one.size, other.size),
        conditions=tuple(dict.fromkeys((*one.conditions, *other.conditions))),
    )


def _bands(part: Expression, left: Set[str], right: Set[str]) -> Iterator[Band]:
    """At most one band, with the left and the right in their places."""
    if not isinstance(part, Call) or part.function not in _FLIPPED:
        return
    small, great = part.args if part.function in ("lt", "le") else part.args[::-1]
    band = _within(small, great) or _ordered(small, great)
    if band is None:
        return
    band = replace(band, conditions=(part,))
    for turned in (band, band.flipped()):
        if _is_over(turned.left, left) and _is_over(turned.right, right) and _is_comparable(turned):
            yield turned
            return


def _ordered(small: Expression, great: Expression) -> Band | None:
    """`small + a <= great + b`, or `great - small >= c`."""
    (small, ahead), (great, behind) = _shifted(small), _shifted(great)
    if isinstance(small, Literal):
        # c <= x - y: x >= y + c
        value, found = _shift(small), _difference(great)
        if value is None or found is None or ahead or behind or great.type.is_floating:
            return None  # a difference that is NaN is greater than all numbers
        return Band(found[1], found[0], low=value, size=abs(float(value)))
    if isinstance(great, Literal):
        # x - y <= c: x <= y + c
        value, found = _shift(great), _difference(small)
        if value is None or found is None or ahead or behind:
            return None
        return Band(found[1], found[0], high=value, size=abs(float(value)))
    return Band(small, great, low=ahead - behind, size=abs(float(ahead)) + abs(float(behind)))


def _within(small: Expression, great: Expression) -> Band | None:
    """`abs(x - y) <= c`."""
    if not (isinstance(small, Call) and small.function == "abs" and isinstance(great, Literal)):
        return None
    value, found = _shift(great), _difference(small.args[0])
    if value is None or found is None:
        return None
    return Band(found[1], found[0], low=-value, high=value, size=abs(float(value)))


def _difference(expression: Expression) -> tuple[Expression, Expression] | None:
    if not isinstance(expression, Call) or expression.function != "subtract":
        return None
    one, other = expression.args
    return (one, other) if columns_of(one) and columns_of(other) else None


def _shifted(expression: Expression) -> tuple[Expression, Shift]:
    """An expression without the constant that is added to it, and the constant."""
    if (
        isinstance(expression, Call)
        and expression.function in ("add", "subtract")
        and len(expression.args) == 2
    ):
        one, other = expression.args
        if isinstance(one, Literal) and expression.function == "add":
            one, other = other, one
        value = _shift(other) if isinstance(other, Literal) else None
        if value is not None and columns_of(one):
            return one, value if expression.function == "add" else -value
    return expression, 0


def _shift(literal: Literal) -> Shift | None:
    match literal.value:
        case bool() | None:
            return None
        case int():
            return literal.value
        case float() if isfinite(literal.value):
            return literal.value
        case Decimal():
            return float(literal.value)
        case timedelta():
            return length_us(literal.value)
    return None


def _is_over(expression: Expression, names: Set[str]) -> bool:
    read = columns_of(expression)
    return bool(read) and read <= names and not can_fail(expression)


def _is_comparable(band: Band) -> bool:
    """Whether both sides are of one order, in which constants are distances."""
    one, other = band.left.type, band.right.type
    if one.family != other.family:
        return False
    if _has_distances(one):
        return one.is_floating or one.is_decimal or not any(_is_broken(end) for end in (band.low, band.high))
    return band.low in (0, -inf) and band.high in (0, inf) and one in (STRING, BOOLEAN, DATE, FLOAT)


def _is_broken(end: Shift) -> bool:
    return isinstance(end, float) and isfinite(end)


def _has_distances(type_: Type) -> bool:
    """Whether values of a type are numbers, or are kept as microseconds. Sums of FLOAT may be infinite where those
    of the same numbers are not elsewhere."""
    return (type_.is_numeric and type_ != FLOAT) or type_ in (TIMESTAMP, INTERVAL)
