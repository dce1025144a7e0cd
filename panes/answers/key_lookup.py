"""A condition on the rows of an answer, and what it says of the columns by which they lie."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from panes.answers.answer import Answer
from panes.delta.evaluate import mask_of
from panes.delta.rows import array_of, fixed_width
from panes.plan.expressions import Call, Column, Expression, Literal, conjuncts, listed_constants
from panes.plan.types import Type, limit_of
from panes.state.buffers.chunk import Chunk

_FLIPPED = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""Comparisons, and what each is with its sides exchanged."""
_MOST_VALUES = 1_000
"""The most values of an IN list that are looked up one by one."""


@dataclass(frozen=True)
class Bounds:
    """The values of one column that a condition leaves: from `low` to `high`, each with whether it is one of them;
    None where there is no bound. Values are as `fixed_width` gives them, where it does."""

    low: Any = None
    has_low: bool = True
    high: Any = None
    has_high: bool = True

    @property
    def is_point(self) -> bool:
        return self.low is not None and self.low == self.high and self.has_low and self.has_high

    def within(self, other: Bounds) -> Bounds:
        """The values that both leave; where they say different things of one end, those that this one leaves."""
        low = (self.low, self.has_low) if self.low is not None else (other.low, other.has_low)
        high = (self.high, self.has_high) if self.high is not None else (other.high, other.has_high)
        return Bounds(*low, *high)


@dataclass(frozen=True)
class KeyLookup:
    """The rows for which a condition is true, in chunks that lie in the order of some columns.

    `columns` are the first of these columns, each with bounds of which a row must lie in one. All but the last
    have values alone, so what is looked for is a slice of a chunk for each combination: rows outside are not read.
    The condition itself decides about the rows that are found.
    """

    condition: Expression
    columns: tuple[tuple[str, tuple[Bounds, ...]], ...] = ()

    @classmethod
    def of(cls, condition: Expression, order: Sequence[tuple[str, Type]]) -> KeyLookup:
        """The lookup that a condition allows where rows lie in the order of some columns."""
        said: dict[str, list[tuple[Bounds, ...]]] = {}
        for part in conjuncts(condition):
            name, bounds = _bounds_of(part, dict(order))
            if bounds:
                said.setdefault(name, []).append(bounds)
        found = []
        for name, _ in order:
            if name not in said:
                break
            # Of several conditions on a column the one with the fewest bounds leads, and single ones narrow it.
            first, *others = sorted(said[name], key=lambda bounds: (not bounds[0].is_point, len(bounds)))
            for other in others:
                if len(other) == 1 and not first[0].is_point:
                    first = tuple(bounds.within(other[0]) for bounds in first)
            found.append((name, first))
            if not all(bounds.is_point for bounds in first):
                break
        return cls(condition, tuple(found))

    @property
    def is_narrow(self) -> bool:
        """Whether it finds rows without reading all."""
        return bool(self.columns)

    def slices(self, chunk: Chunk) -> Iterator[pa.Table]:
        """The slices of a chunk that lies in the order of the columns in which the rows are that may be meant."""
        if not self.columns:
            yield chunk.table
            return
        (name, choices), *deeper = self.columns
        search = _searches.get(chunk)
        if search is None:
            search = _searches[chunk] = _Search(array_of(chunk.table, name))
        for bounds in choices:
            begin, end = search.range(bounds)
            if begin < end:
                yield from self._narrowed(chunk.table.slice(begin, end - begin), deeper)

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows of a table for which the condition is true."""
        return table.filter(mask_of(self.condition, table)) if table.num_rows else table

    def answer(self, answer: Answer) -> Answer:
        """The rows of an answer for which the condition is true."""
        mask = mask_of(self.condition, answer.table)
        error = None if answer.error is None else answer.error.filter(mask)
        return replace(answer, table=answer.table.filter(mask), error=error)

    def _narrowed(
        self, rows: pa.Table, columns: Sequence[tuple[str, tuple[Bounds, ...]]]
    ) -> Iterator[pa.Table]:
        if not columns:
            yield rows
            return
        (name, choices), *deeper = columns
        search = _Search(array_of(rows, name))
        for bounds in choices:
            begin, end = search.range(bounds)
            if begin < end:
                yield from self._narrowed(rows.slice(begin, end - begin), deeper)


class _Search:
    """Bisection in a column that lies in order, NULL last."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array
        self._filled = len(array) - array.null_count
        values = fixed_width(array)
        self._values = None if values is None else values[: self._filled]

    def range(self, bounds: Bounds) -> tuple[int, int]:
        """Where the values lie that the bounds leave."""
        begin = 0 if bounds.low is None else self._place(bounds.low, after=not bounds.has_low)
        end = self._filled if bounds.high is None else self._place(bounds.high, after=bounds.has_high)
        return begin, end

    def _place(self, value: Any, *, after: bool) -> int:
        if self._values is None:
            bisect: Callable[..., int] = bisect_right if after else bisect_left
            return bisect(range(self._filled), value, key=lambda row: self._array[row].as_py())
        return int(self._values.searchsorted(value, "right" if after else "left"))


_searches: WeakKeyDictionary[Chunk, _Search] = WeakKeyDictionary()
"""By the first column of their order, of chunks that somebody has looked into: the same chunks are asked for many
times."""


def _bounds_of(condition: Expression, types: dict[str, Type]) -> tuple[str, tuple[Bounds, ...]]:
    """The column of the order that a condition bounds, and how; no bounds where it says nothing that helps.

    A constant must be a value of the type of its column.
    """
    match condition:
        case Call(function=function, args=(Column(name=name), Literal() as literal)) if function in _FLIPPED:
            pass
        case Call(function=function, args=(Literal() as literal, Column(name=name))) if function in _FLIPPED:
            function = _FLIPPED[function]
        case Call(function="in", args=(Column(name=name), first, *_)):
            values = listed_constants(condition)
            if values is None or len(values) > _MOST_VALUES:
                return "", ()
            points = [_compared("eq", Literal(first.type, value), types.get(name)) for value in values]
            # Equal values would find the same rows twice.
            alike = {bounds.low: bounds for bounds in points if bounds is not None}
            return name, tuple(alike.values()) if None not in points else ()
        case _:
            return "", ()
    bounds = _compared(function, literal, types.get(name))
    return name, () if bounds is None else (bounds,)


def _compared(function: str, literal: Expression, type_: Type | None) -> Bounds | None:
    if not isinstance(literal, Literal) or type_ is None or not _is_value_of(literal, type_):
        return None
    physical = fixed_width(pa.array([literal.value], type_.arrow))
    value: Any = literal.value if physical is None else physical[0]
    return {
        "eq": Bounds(value, True, value, True),
        "lt": Bounds(high=value, has_high=False),
        "le": Bounds(high=value),
        "gt": Bounds(low=value, has_low=False),
        "ge": Bounds(low=value),
    }[function]


def _is_value_of(literal: Literal, type_: Type) -> bool:
    """Whether a constant is a value that a column of a type may have, and that equals itself."""
    value: Any = literal.value
    if literal.type.is_integer and type_.is_integer and value is not None:
        return bool(-limit_of(type_) <= value < limit_of(type_))
    return literal.type == type_ and value is not None and bool(value == value)
