"""The one table of aggregate functions, as FUNCTIONS is for scalar ones.

All of them ignore rows whose arguments are NULL (count(*) counts rows), and all but the counts give NULL when
nothing is left to aggregate. Only what ORDER BY inside an aggregate reads may be NULL: it comes last. The
approximate forms keep a sketch in place of all values; `plan/stated_error.py` says what may be wrong then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from panes.plan.expressions import Value
from panes.plan.function_signatures import Signature, WrongTypes, numeric
from panes.plan.sketch_sizes import COUNT_ERROR, REGISTER_BITS, VALUE_BITS, VALUE_ERROR
from panes.plan.types import (
    BIGINT,
    BOOLEAN,
    COLUMN_TYPES,
    DOUBLE,
    MOST_DIGITS,
    NULL,
    STRING,
    Type,
    decimal,
    list_of,
    struct_of,
)


@dataclass(frozen=True)
class AggregateFunction:
    """One aggregate over a column, or over two; `check` looks at the constants after them."""

    name: str
    typing: Callable[..., Signature]
    meaning: str
    parameters: tuple[str, ...] = ()
    check: Callable[[Sequence[Value]], None] = lambda _: None
    takes_two: bool = False
    takes_weight: bool = False
    """Whether a column to sum may follow the constants."""
    takes_distinct: bool = False
    takes_order: bool = False
    """Whether ORDER BY may stand inside."""
    needs_time: bool = False
    """Whether it asks for the time of tuples."""
    short_for: str | None = None
    """The aggregate that the binder writes for it."""
    keeps_values: bool = False
    """Whether every value of a group must be remembered, though the group may only grow."""
    needs_panes: bool = False
    """Whether rows must come and go pane by pane."""
    approximately: str | None = None
    """The aggregate that gives about the same, and remembers a sketch only."""

    @property
    def form(self) -> str:
        """How a call is written."""
        columns = ("x", "y") if self.takes_two else ("x",)
        more = " [ORDER BY y]" if self.takes_order else "[, weight]" if self.takes_weight else ""
        return f"{self.name}({', '.join((*columns, *self.parameters))}{more})"

    def signature(self, arg: Type, parameters: Sequence[Value] = (), by: Type | None = None) -> Signature:
        """The types for this argument, or for two; WrongTypes when they are not taken."""
        if len(parameters) != len(self.parameters) or (by is None and self.takes_two):
            raise WrongTypes(f"is written {self.form}")
        self.check(parameters)
        return self.typing(arg) if by is None else self.typing(arg, by)


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


def _top_k(arg: Type, weight: Type | None = None) -> Signature:
    kept = _comparable(arg)
    if weight is None:
        return Signature((kept,), list_of(kept))
    if not weight.is_integer and weight != NULL:
        raise WrongTypes(f"takes whole numbers as weight, not {weight}; write CAST(… AS BIGINT)")
    return Signature((kept, BIGINT), list_of(kept))


def _top_k_counts(arg: Type) -> Signature:
    kept = _comparable(arg)
    return Signature((kept,), list_of(struct_of([("value", kept), ("n", BIGINT)])))


def _frequent(arg: Type) -> Signature:
    kept = _comparable(arg)
    fields = [("value", kept), ("at_least", BIGINT), ("at_most", BIGINT)]
    return Signature((kept,), list_of(struct_of(fields)))


def _moment(*args: Type) -> Signature:
    for arg in args:
        numeric(arg)
    return Signature((DOUBLE,) * len(args), DOUBLE)


def _by(arg: Type, by: Type = BIGINT) -> Signature:
    kept = _in_pairs(arg)
    return Signature((kept, _in_pairs(by)), kept)


def _array(arg: Type, by: Type | None = None) -> Signature:
    kept = _comparable(arg)
    return Signature((kept,) if by is None else (_in_pairs(kept), _in_pairs(by)), list_of(kept))


def _text(arg: Type, by: Type | None = None) -> Signature:
    if arg not in (STRING, NULL):
        raise WrongTypes(f"takes STRINGs, not {arg}; write CAST(… AS STRING)")
    return Signature((STRING,) if by is None else (STRING, _in_pairs(by)), STRING)


def _condition(arg: Type) -> Signature:
    if arg not in (BOOLEAN, NULL):
        raise WrongTypes(f"takes a condition, not {arg}")
    return Signature((BOOLEAN,), BOOLEAN)


def _in_pairs(arg: Type) -> Type:
    """What can be kept in pairs."""
    if arg.is_decimal:
        raise WrongTypes(f"does not take {arg}; write CAST(… AS DOUBLE)")
    return _comparable(arg)


def _check_separator(parameters: Sequence[Value]) -> None:
    (separator,) = parameters
    if not isinstance(separator, str):
        raise WrongTypes("takes a constant text as sep")


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


def exact_share(p: Value) -> Decimal:
    """A share as its digits say, so that 0.07 of 100 values are 7."""
    return Decimal(repr(p))


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
        takes_distinct=True,
    ),
    AggregateFunction("avg", _average, "mean, a DOUBLE", takes_distinct=True),
    AggregateFunction("min", _extreme, "the least value", takes_distinct=True),
    AggregateFunction("max", _extreme, "the greatest value", takes_distinct=True),
    AggregateFunction(
        "any_value", _extreme, "one of the values, always the same: min(x)", short_for="min"
    ),
    AggregateFunction(
        "bool_and", _condition, "whether a condition is true for all rows: the least of its values",
        short_for="min",
    ),
    AggregateFunction(
        "bool_or", _condition, "whether a condition is true for a row: the greatest of its values",
        short_for="max",
    ),
    AggregateFunction("count_if", _condition, "the rows for which the condition is true", short_for="count"),
    AggregateFunction("var_samp", _moment, "variance of a sample: squared distances from the mean by n - 1"),
    AggregateFunction("var_pop", _moment, "variance of all there is: squared distances from the mean by n"),
    AggregateFunction("stddev_samp", _moment, "standard deviation of a sample, the root of var_samp(x)"),
    AggregateFunction("stddev_pop", _moment, "standard deviation of all there is, the root of var_pop(x)"),
    AggregateFunction("covar_samp", _moment, "covariance of a sample of pairs, by n - 1", takes_two=True),
    AggregateFunction("covar_pop", _moment, "covariance of all pairs there are, by n", takes_two=True),
    AggregateFunction(
        "corr", _moment, "correlation of pairs, from -1 to 1; NULL when x or y does not vary", takes_two=True
    ),
    AggregateFunction(
        "min_by", _by, "x where y is least, of several the least x", takes_two=True, keeps_values=True
    ),
    AggregateFunction(
        "max_by", _by, "x where y is greatest, of several the least x", takes_two=True, keeps_values=True
    ),
    AggregateFunction(
        "first", _by, "x of the oldest tuple, of several of one time the least x",
        needs_time=True, keeps_values=True,
    ),
    AggregateFunction(
        "last", _by, "x of the youngest tuple, of several of one time the greatest x",
        needs_time=True, keeps_values=True,
    ),
    AggregateFunction(
        "array_agg", _array, "list of the values, ordered by y and then by x; without ORDER BY by x",
        takes_distinct=True, takes_order=True, keeps_values=True,
    ),
    AggregateFunction(
        "string_agg", _text, "the texts one after the other in that order, with a constant between them",
        ("sep",), _check_separator, takes_distinct=True, takes_order=True, keeps_values=True,
    ),
    AggregateFunction(
        "quantile", _quantile,
        "the p-quantile, interpolated between neighbors; also percentile_cont(p) WITHIN GROUP (ORDER BY x)",
        ("p",), _check_fraction,
        keeps_values=True, approximately="approx_quantile(x, p)",
    ),
    AggregateFunction(
        "quantile_disc", _extreme,
        "the least of the values that at least the share p of all values do not exceed; also "
        "percentile_disc(p) WITHIN GROUP (ORDER BY x)",
        ("p",), _check_fraction, keeps_values=True, approximately="approx_quantile(x, p)",
    ),
    AggregateFunction(
        "median", _quantile, "the same as quantile(x, 0.5)",
        keeps_values=True, approximately="approx_quantile(x, 0.5)",
    ),
    AggregateFunction(
        "mode", _extreme, "the most frequent value, of several the smallest",
        keeps_values=True, approximately="approx_top_k(x, 1)",
    ),
    AggregateFunction(
        "top_k", _top_k,
        "list of the k most frequent values, or of those with the greatest sums of weights, greatest first, ties "
        "by the smaller value",
        ("k",), _check_rank, takes_weight=True, keeps_values=True, approximately="approx_top_k(x, k)",
    ),
    AggregateFunction(
        "top_k_counts", _top_k_counts, "the same list with how often each value occurs: value and n",
        ("k",), _check_rank, keeps_values=True, approximately="approx_top_k(x, k)",
    ),
    AggregateFunction(
        "frequent", _frequent,
        "list of the values that are certain to occur more often than frequent_threshold(x, k), from the k most "
        "frequent of each pane: value, at_least and at_most",
        ("k",), _check_rank, needs_panes=True,
    ),
    AggregateFunction(
        "frequent_threshold", _count,
        "how often a value can occur that is in none of the lists that frequent(x, k) keeps",
        ("k",), _check_rank, needs_panes=True,
    ),
    AggregateFunction(
        "approx_count_distinct", _count,
        f"about count(DISTINCT x), from a sketch of {1 << REGISTER_BITS} registers: "
        f"standard error {100 * COUNT_ERROR:.1f} %",
    ),
    AggregateFunction(
        "approx_quantile", _quantile,
        f"about quantile(x, p), of values with {VALUE_BITS} significant bits: "
        f"within {100 * VALUE_ERROR:.1f} % of the value",
        ("p",), _check_fraction,
    ),
    AggregateFunction(
        "approx_top_k", _top_k,
        "about top_k(x, k), from at least 100 counters per pane, or for a whole stream: counts up to 1 % of the "
        "rows too low; exact where rows leave one by one",
        ("k",), _check_rank,
    ),
)  # fmt: skip

AGGREGATES: dict[str, AggregateFunction] = {function.name: function for function in _ALL}

AGGREGATE_ALIASES = {
    "mean": "avg", "percentile": "quantile", "quantile_cont": "quantile", "variance": "var_samp",
    "stddev": "stddev_samp", "std": "stddev_samp", "every": "bool_and", "logical_and": "bool_and",
    "logical_or": "bool_or", "arg_min": "min_by", "argmin": "min_by", "arg_max": "max_by", "argmax": "max_by",
    "first_value": "first", "last_value": "last", "list": "array_agg", "collect_list": "array_agg",
    "listagg": "string_agg", "group_concat": "string_agg", "countif": "count_if", "collect_set": "array_agg",
    "percentile_cont": "quantile", "percentile_disc": "quantile_disc", "percentile_approx": "quantile_disc",
    "approx_percentile": "quantile_disc", "some": "bool_or",
}  # fmt: skip
"""Other names under which users may know an aggregate."""
