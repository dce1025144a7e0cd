"""The values of rows: NULL is None, NaN is one object that equals itself, and -0.0 is 0.0."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

Row = tuple[Any, ...]
Bag = Counter[Row]

NAN = float("nan")


def plain(value: Any) -> Any:
    """A value in the form in which equal ones are equal in Python."""
    if isinstance(value, float):
        return NAN if math.isnan(value) else value + 0.0
    return tuple(map(plain, value)) if isinstance(value, list) else value


def order(value: Any) -> tuple[Any, ...]:
    """What to sort values by: NULL first, NaN last."""
    if value is None:
        return (0,)
    if value is NAN:
        return (2,)
    return (1, tuple(map(order, value)) if isinstance(value, tuple) else value)


def by_value(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: tuple(map(order, row)))


def comparable(rows: Bag) -> Bag:
    """The rows as `panes.testing.counted` has them: doubles by their first eleven digits."""
    bag: Bag = Counter()
    for row, count in rows.items():
        bag[tuple(map(_text, row))] += count
    return bag


def _text(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value + 0.0:.10e}"
    return tuple(map(_text, value)) if isinstance(value, tuple) else value
