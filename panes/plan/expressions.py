"""Scalar expressions and aggregate calls, with names and types already resolved.

Immutable trees. What a function means, and what types it takes, is in `plan/functions.py`; the evaluators
(Arrow in `delta/evaluate.py`, SQL text in `plan/to_sql.py`) know every function of that table, and a test says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from panes.plan.durations import duration_text, length_us
from panes.plan.remembered_hash import RememberedHash
from panes.plan.types import BOOLEAN, Type

Value = bool | int | float | Decimal | str | bytes | date | datetime | timedelta | None


@dataclass(frozen=True)
class Expression:
    """Base of all scalar expressions. Every one has a `type`."""

    type: Type

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class Column(Expression):
    """A column of the input, by its name on that edge."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Literal(Expression):
    value: Value

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        if isinstance(self.value, bool):
            return str(self.value).upper()
        if isinstance(self.value, (date, datetime)):
            return f"{self.type} '{self.value}'"
        if isinstance(self.value, timedelta):
            return f"INTERVAL {duration_text(length_us(self.value))}"
        if isinstance(self.value, bytes):
            return f"x'{self.value.hex()}'"
        if isinstance(self.value, Decimal):
            return f"{self.value:f}"
        return str(self.value)


@dataclass(frozen=True, repr=False)
class Constants(RememberedHash, Expression):
    """The constants of an IN list, all of one type, which is `type`: one node for all of them.

    A list may have 100,000 constants, and a plan is hashed, compared, written down and evaluated many times: hash,
    text and Arrow array are made once.
    """

    values: tuple[Value, ...]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._repr

    @cached_property
    def scalar(self) -> pa.ListScalar:
        """The constants as one value of Arrow, a list."""
        return pa.scalar(self.values, pa.list_(self.type.arrow))

    @cached_property
    def _text(self) -> str:
        return ", ".join(str(Literal(self.type, value)) for value in self.values)

    @cached_property
    def _repr(self) -> str:
        return f"Constants(type={self.type!r}, values={self.values!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"type": self.type, "values": self.values}


@dataclass(frozen=True)
class Now(Expression):
    """The instant of the answer, τ."""

    def __str__(self) -> str:
        return "now()"


@dataclass(frozen=True)
class Call(Expression):
    """A scalar function or operator by its name in `plan/functions.py`: `add`, `eq`, `and`, `upper`, …"""

    function: str
    args: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.args

    def __str__(self) -> str:
        symbol = _INFIX.get(self.function)
        if symbol and len(self.args) == 2:
            return " ".join([_inside(self.args[0]), symbol, _inside(self.args[1])])
        if self.function in _POSTFIX:
            return f"{_inside(self.args[0])} {_POSTFIX[self.function]}"
        if self.function == "not":
            return f"NOT {_inside(self.args[0])}"
        if self.function == "in":
            return f"{_inside(self.args[0])} IN ({', '.join(map(str, self.args[1:]))})"
        if self.function == "array":
            return f"[{', '.join(map(str, self.args))}]"
        if self.function == "element":
            return f"{_inside(self.args[0])}[{self.args[1]}]"
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class OwnCall(Call):
    """A call of a function of a user, which is found by its import path wherever it is evaluated."""

    path: str = ""
    is_vectorized: bool = True
    """Whether it takes whole columns of Arrow, and not the values of one row."""
    takes_null: bool = False
    """Whether it is called for rows that have a NULL among the arguments, for which others give NULL."""

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class Case(Expression):
    """The value of the first branch whose condition is true, else `otherwise` (NULL when there is none)."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*(e for branch in self.branches for e in branch), self.otherwise)

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {c} THEN {v}" for c, v in self.branches)
        return f"CASE {whens} ELSE {self.otherwise} END"


@dataclass(frozen=True)
class Cast(Expression):
    arg: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.arg,)

    def __str__(self) -> str:
        return f"CAST({self.arg} AS {self.type})"


@dataclass(frozen=True)
class FieldOf(Expression):
    """A field of a STRUCT."""

    arg: Expression
    name: str

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.arg,)

    def __str__(self) -> str:
        return (
            f"{self.arg}.{self.name}"
            if isinstance(self.arg, (Column, FieldOf))
            else f"({self.arg}).{self.name}"
        )


@dataclass(frozen=True)
class Cells(Expression):
    """The list of the cells that the values from `arg + low` to `arg + high` lie in; empty for NULL.

    Cells have numbers: that of a value is floor(value / width). The argument is an integer or an instant, which is
    its microseconds. Only the optimizer makes it, to route rows by ranges of their values.
    """

    arg: Expression
    width: int
    low: int = 0
    high: int = 0

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.arg,)

    def __str__(self) -> str:
        width = self._distance(self.width)
        if self.low == self.high == 0:
            return f"the cell of {width} of {self.arg}"
        return f"the cells of {width} from {self._end(self.low)} to {self._end(self.high)}"

    def _end(self, by: int) -> str:
        return f"{_inside(self.arg)} {'-' if by < 0 else '+'} {self._distance(by)}" if by else str(self.arg)

    def _distance(self, by: int) -> str:
        return str(abs(by)) if self.arg.type.is_integer else duration_text(abs(by))


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a GroupBy and the name of its output column.

    `arg` is None for count(*). `parameters` are the constants after the argument: p of quantile, k of top_k.
    `by` is the second column of aggregates of pairs: y of covar_pop(x, y) and max_by(x, y), the time of the tuple
    for first(x) and last(x), what array_agg and string_agg are ordered by where that is not their argument, and
    the weight that top_k sums.
    """

    name: str
    function: str
    arg: Expression | None
    type: Type
    distinct: bool = False
    parameters: tuple[Value, ...] = ()
    by: Expression | None = None
    descending: bool = False
    """Whether array_agg and string_agg go from the greatest to the least."""
    path: str = ""
    """The import path of an aggregate of a user."""

    @property
    def args(self) -> tuple[Expression, ...]:
        """What is computed for each row."""
        return tuple(arg for arg in (self.arg, self.by) if arg is not None)

    def __str__(self) -> str:
        inside = "*" if self.arg is None else str(self.arg)
        if self.distinct:
            inside = f"DISTINCT {inside}"
        shown = [inside]
        parameters = [f"'{p}'" if isinstance(p, str) else str(p) for p in self.parameters]
        if self.function == "top_k":
            shown += parameters
        if self.by is not None and self.function not in (*_LISTS, "first", "last"):
            shown.append(str(self.by))
        if self.function != "top_k":
            shown += parameters
        order = f" ORDER BY {self.by or self.arg}{' DESC' * self.descending}"
        is_ordered = self.function in _LISTS and (self.by is not None or self.descending)
        return f"{self.function}({', '.join(shown)}{order * is_ordered})"


_LISTS = ("array_agg", "string_agg")

_INFIX = {
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "AND", "or": "OR",
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%",
    "concat": "||", "at_time_zone": "AT TIME ZONE", "like": "LIKE", "ilike": "ILIKE",
    "is_distinct": "IS DISTINCT FROM", "is_not_distinct": "IS NOT DISTINCT FROM",
}  # fmt: skip
_POSTFIX = {"is_null": "IS NULL", "is_not_null": "IS NOT NULL"}


def _inside(expression: Expression) -> str:
    infix = isinstance(expression, Call) and (expression.function in _INFIX or expression.function == "not")
    return f"({expression})" if infix else str(expression)


def walk(expression: Expression) -> Iterator[Expression]:
    yield expression
    for child in expression.children:
        yield from walk(child)


def listed_constants(condition: Expression) -> tuple[Value, ...] | None:
    """The constants of `value IN (constants)`; None for other conditions and for other lists.

    >>> from panes.plan.types import BIGINT
    >>> a = Column(BIGINT, "a")
    >>> listed_constants(Call(BOOLEAN, "in", (a, Constants(BIGINT, (1, 2)))))
    (1, 2)
    >>> listed_constants(Call(BOOLEAN, "in", (a, Literal(BIGINT, 1), a))) is None
    True
    """
    if not isinstance(condition, Call) or condition.function != "in":
        return None
    options = condition.args[1:]
    if isinstance(options[0], Constants):
        return options[0].values
    literals = tuple(option.value for option in options if isinstance(option, Literal))
    return literals if len(literals) == len(options) else None


def columns_of(expression: Expression) -> frozenset[str]:
    """The names of the input columns that an expression reads."""
    return frozenset(e.name for e in walk(expression) if isinstance(e, Column))


def conjuncts(predicate: Expression | None) -> tuple[Expression, ...]:
    """`a AND b AND c` as its parts; the empty tuple for None."""
    if predicate is None:
        return ()
    if isinstance(predicate, Call) and predicate.function == "and":
        return conjuncts(predicate.args[0]) + conjuncts(predicate.args[1])
    return (predicate,)


def conjunction(parts: tuple[Expression, ...]) -> Expression | None:
    """The inverse of `conjuncts`."""
    whole: Expression | None = None
    for part in parts:
        whole = part if whole is None else Call(BOOLEAN, "and", (whole, part))
    return whole


def substitute(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """The expression with other expressions in place of its columns."""
    match expression:
        case Column(name=name):
            return columns[name]
        case Call(args=args):
            return replace(expression, args=tuple(substitute(arg, columns) for arg in args))
        case Cast(arg=arg) | FieldOf(arg=arg) | Cells(arg=arg):
            return replace(expression, arg=substitute(arg, columns))
        case Case(branches=branches, otherwise=otherwise):
            return replace(
                expression,
                branches=tuple((substitute(c, columns), substitute(v, columns)) for c, v in branches),
                otherwise=substitute(otherwise, columns),
            )
    return expression
