"""What a query asks of the tuples of one stream, taken apart for an index.

A predicate is a conjunction. The parts that compare an attribute with constants (`a < 5`, `a IN (1, 2)`,
`a IS NULL`) become conditions, which an index can hold; the rest is the residual, which is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from panes.plan.expressions import (
    Call,
    Cast,
    Column,
    Expression,
    Literal,
    Value,
    conjunction,
    conjuncts,
    listed_constants,
    substitute,
)
from panes.plan.types import BINARY, Type, wider

_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NULLNESS = ("is_null", "is_not_null")


@dataclass(frozen=True)
class Condition:
    """`attribute op constant`; the attribute is a column, or a column cast to a wider type of number.

    `op` is one of eq, ne, lt, le, gt, ge, in, is_null and is_not_null.
    """

    attribute: Expression
    op: str
    constants: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Predicate:
    """A conjunction of conditions and a residual. NULL is not true: such a tuple is not selected."""

    conditions: tuple[Condition, ...] = ()
    residual: Expression | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every tuple passes."""
        return not self.conditions and self.residual is None

    def renamed(self, columns: Mapping[str, Column]) -> Predicate:
        """The same over other names of the columns; where there are none, it stays as it is."""
        if not columns:
            return self
        conditions = tuple(replace(c, attribute=substitute(c.attribute, columns)) for c in self.conditions)
        residual = None if self.residual is None else substitute(self.residual, columns)
        return Predicate(conditions, residual)


def predicate_of(expression: Expression | None) -> Predicate:
    """The predicate that an expression states.

    >>> from panes.plan.types import BIGINT, BOOLEAN
    >>> a = Column(BIGINT, "a")
    >>> predicate_of(Call(BOOLEAN, "ge", (Literal(BIGINT, 5), a))).conditions[0].op
    'le'
    """
    conditions: list[Condition] = []
    rest = []
    listed = set()
    for part in conjuncts(expression):
        condition = _condition_of(part)
        # An index holds one list of options per attribute; a second one is rare.
        if condition is None or (condition.op == "in" and condition.attribute in listed):
            rest.append(part)
            continue
        conditions.append(condition)
        if condition.op == "in":
            listed.add(condition.attribute)
    return Predicate(tuple(conditions), conjunction(tuple(rest)))


def _condition_of(part: Expression) -> Condition | None:
    if not isinstance(part, Call):
        return None
    first, *others = part.args
    if part.function in _NULLNESS and is_attribute(first):
        return Condition(first, part.function)
    if part.function == "in" and is_attribute(first):
        options = listed_constants(part)
        return None if options is None else Condition(first, "in", options)
    if part.function in _MIRRORED:
        (second,) = others
        if is_attribute(first) and isinstance(second, Literal):
            return Condition(first, part.function, (second.value,))
        if isinstance(first, Literal) and is_attribute(second):
            return Condition(second, _MIRRORED[part.function], (first.value,))
    return None


def is_attribute(expression: Expression) -> bool:
    """Whether it can be computed for all tuples at no risk: what may fail is left to the residual, which sees
    only the tuples that pass the rest."""
    if isinstance(expression, Cast):
        return (
            isinstance(expression.arg, Column)
            and _is_indexed(expression.type)
            and expression.type.is_numeric
            and wider(expression.arg.type, expression.type) == expression.type
        )
    return isinstance(expression, Column) and _is_indexed(expression.type)


def _is_indexed(type_: Type) -> bool:
    """Whether values are told apart by cells: as numbers of at most 64 bits, or as texts."""
    return not type_.is_nested and not type_.is_decimal and type_ != BINARY
