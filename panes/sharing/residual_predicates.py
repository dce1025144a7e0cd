"""What an index cannot hold: predicates that are evaluated, for the queries that have them and for the tuples that
pass everything else these ask.

Residuals of one shape (equal up to the constants that values are compared with) are evaluated together: the
constants become columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from panes.delta.evaluate import mask_of
from panes.plan.expressions import Call, Column, Expression, Literal, walk
from panes.plan.types import NULL
from panes.sharing.bits import At, Flags, Ints, Words, bit_of, pairs_of, set_columns

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_LOGIC = frozenset({"and", "or", "not"})
_AT_ONCE = 1 << 20
"""Pairs of tuple and query that are evaluated at once."""


class Tuples(Protocol):
    """What residuals are evaluated over."""

    def taken(self, columns: Iterable[Column], at: Ints) -> dict[str, pa.Array]:
        """Columns of some tuples."""


@dataclass(frozen=True)
class Shape:
    """The residuals of one shape."""

    expression: Expression
    """With a column `_constant_0`, `_constant_1`, … in place of each constant."""
    columns: tuple[Column, ...]
    """The columns of the stream that it reads."""
    members: Words
    """The bits of the queries that have it."""
    row_of: Ints
    """For each place of the block, the row of `constants` that is its own."""
    constants: pa.Table

    def keep(self, bits: Words, tuples: Tuples, at: At) -> None:
        """Clears the bits of the pairs that do not pass."""
        row, place = pairs_of(bits & self.members)
        numbers = row + at.start if isinstance(at, slice) else at[row]
        for first in range(0, len(row), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            failed = ~self._passes(tuples, numbers[some], place[some])
            row_failed, place_failed = row[some][failed], place[some][failed]
            np.bitwise_xor.at(bits, (row_failed, place_failed // 64), bit_of(place_failed))

    def _passes(self, tuples: Tuples, row: Ints, place: Ints) -> Flags:
        if self.constants.num_rows <= 1:
            # All of its queries ask the same: once per tuple is enough.
            needed, where = np.unique(row, return_inverse=True)
            row, place = needed, np.full(len(needed), place[0] if len(place) else 0)
        else:
            where = np.arange(len(row))
        columns = tuples.taken(self.columns, row)
        own = pa.array(self.row_of[place])
        columns |= {name: self.constants.column(name).take(own) for name in self.constants.column_names}
        # Where nothing is read, a table must still know its length.
        table = pa.table(columns or {"_": np.zeros(len(row), np.int8)})
        passes: Flags = np.asarray(mask_of(self.expression, table))
        return passes[where]


@dataclass(frozen=True)
class ResidualPredicates:
    shapes: tuple[Shape, ...]

    @classmethod
    def of(cls, residuals: Sequence[tuple[int, Expression]], words: int) -> ResidualPredicates:
        found: dict[Expression, list[tuple[int, tuple[Literal, ...]]]] = {}
        for place, expression in residuals:
            constants: list[Literal] = []
            shape = _lifted(expression, constants)
            found.setdefault(shape, []).append((place, tuple(constants)))
        return cls(tuple(_shape(expression, who, words) for expression, who in found.items()))

    def over(self, columns: Set[str]) -> ResidualPredicates:
        """Those that read no other column."""
        return ResidualPredicates(tuple(s for s in self.shapes if {c.name for c in s.columns} <= columns))

    def apply(self, bits: Words, tuples: Tuples, at: At) -> None:
        """Clears the bits of some tuples that do not pass."""
        for shape in self.shapes:
            shape.keep(bits, tuples, at)


def _lifted(expression: Expression, constants: list[Literal]) -> Expression:
    """The expression with columns in place of the constants that something is compared with."""
    if not isinstance(expression, Call):
        return expression
    if expression.function in _LOGIC:
        return replace(expression, args=tuple(_lifted(arg, constants) for arg in expression.args))
    if expression.function not in _COMPARISONS:
        return expression
    args = []
    for arg in expression.args:
        if isinstance(arg, Literal) and arg.type != NULL:
            constants.append(arg)
            arg = Column(arg.type, f"_constant_{len(constants) - 1}")
        args.append(arg)
    return replace(expression, args=tuple(args))


def _shape(expression: Expression, who: Sequence[tuple[int, tuple[Literal, ...]]], words: int) -> Shape:
    places = np.array([place for place, _ in who], np.int64)
    distinct = {constants: number for number, constants in enumerate(dict.fromkeys(c for _, c in who))}
    row_of = np.zeros(words * 64, np.int64)
    row_of[places] = [distinct[constants] for _, constants in who]
    columns = {
        f"_constant_{number}": pa.array([literal.value for literal in column], column[0].type.arrow)
        for number, column in enumerate(zip(*distinct, strict=True))
    }
    named = {part.name: part for part in walk(expression) if isinstance(part, Column)}
    read = tuple(named[name] for name in sorted(named.keys() - columns.keys()))
    return Shape(expression, read, set_columns(places, words), row_of, pa.table(columns))
