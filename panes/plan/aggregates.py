"""The one table of aggregate functions, as FUNCTIONS is for scalar ones.

All of them ignore NULL arguments (count(*) counts rows), and all but the counts give NULL when nothing is
left to aggregate. The approximate forms are computed exactly: there are no sketches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from panes.plan.expressions import Value
from panes.plan.functions import Signature, WrongTypes, numeric
from panes.plan.types import BIGINT, COLUMN_TYPES, DOUBLE, MOST_DIGITS, NULL, Type, decimal, list_of


@dataclass(frozen=True)
class AggregateFunction:
    """One aggregate over a column; `check` looks at the constants after the argument."""

    name: str
    typing: Callable[[Type], Signature]
    meaning: str
    parameters: tuple[str, ...] = ()
    check: Callable[[Sequence[Value]], None] = lambda _: None
    takes_distinct: bool = False
    is_approximate: bool = False

    @property
    def form(self) -> str:
        """How a call is written."""
        return f"{self.name}({', '.join(('x', *self.parameters))})"

    def signature(self, arg: Type, parameters: Sequence[Value] = ()) -> Signature:
        """The types for this argument; WrongTypes when it is not taken."""
        if len(parameters) != len(self.parameters):
            raise WrongTypes(f"is written {self.form}")
        self.check(parameters)
        return self.typing(arg)


def _count(arg: Type) -> Signature:
    return Signature((_comparable(arg),), BIGINT)


def _sum(arg: Type) -> Signature:
    number = numeric(arg)
    return Signature((number,), decimal(MOST_DIGITS, number.scale) if number.is_decimal else number)


def _average(arg: Type) -> Signature:
    # Integers are summed as integers: a mean kept up to date for days must not drift.
    return Signature((numeric(arg),), DOUBLE)


def _quantile(arg: Type) -> Signature:
    numeric(arg)
    return Signature((DOUBLE,), DOUBLE)


def _extreme(arg: Type) -> Signature:
    kept = _comparable(arg)
    return Signature((kept,), kept)


def _top_k(arg: Type) -> Signature:
    kept = _comparable(arg)
    return Signature((kept,), list_of(kept))


def _comparable(arg: Type) -> Type:
    if arg == NULL:
        return BIGINT
    if arg.family not in COLUMN_TYPES:
        raise WrongTypes(f"does not take {arg}")
    return arg


def _check_fraction(parameters: Sequence[Value]) -> None:
    (p,) = parameters
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise WrongTypes("takes a constant between 0 and 1 as p")


def _check_rank(parameters: Sequence[Value]) -> None:
    (k,) = parameters
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= 10_000:
        raise WrongTypes("takes a whole number from 1 to 10000 as k")


_ALL = (
    AggregateFunction(
        "count", _count, "rows (count(*)), values (count(x)) or different values (count(DISTINCT x))",
        takes_distinct=True,
    ),
    AggregateFunction(
        "sum", _sum,
        "sum: BIGINT of integers, DECIMAL(38, s) of DECIMAL(p, s) (an error beyond these), else DOUBLE",
    ),
    AggregateFunction("avg", _average, "mean, a DOUBLE"),
    AggregateFunction("min", _extreme, "the least value"),
    AggregateFunction("max", _extreme, "the greatest value"),
    AggregateFunction(
        "quantile", _quantile, "the p-quantile, interpolated between neighbors", ("p",), _check_fraction
    ),
    AggregateFunction("median", _quantile, "the same as quantile(x, 0.5)"),
    AggregateFunction(
        "top_k", _top_k, "list of the k most frequent values, most frequent first, ties by the smaller value",
        ("k",), _check_rank,
    ),
    AggregateFunction("approx_count_distinct", _count, "the same as count(DISTINCT x)", is_approximate=True),
    AggregateFunction(
        "approx_quantile", _quantile, "the same as quantile(x, p)", ("p",), _check_fraction, is_approximate=True
    ),
    AggregateFunction(
        "approx_top_k", _top_k, "the same as top_k(x, k)", ("k",), _check_rank, is_approximate=True
    ),
)  # fmt: skip

AGGREGATES: dict[str, AggregateFunction] = {function.name: function for function in _ALL}

AGGREGATE_ALIASES = {"mean": "avg", "percentile": "quantile", "quantile_cont": "quantile"}
"""Other names under which users may know an aggregate."""
