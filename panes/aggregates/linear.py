"""count, sum and avg, also of distinct values; variances, covariances and correlation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.adders import Adder, Count, DecimalSum, Doubles, IntegerSum, adder_for
from panes.aggregates.base import Accumulators, Ints, Partial
from panes.aggregates.moments import MOMENTS, OF_PAIRS, Sum, moment
from panes.delta.decimals import opposite_where
from panes.errors import EvaluationError
from panes.plan.expressions import Aggregate, Call, Case, Expression, Literal
from panes.plan.over_functions import OverFunction
from panes.plan.types import BIGINT, BOOLEAN, MOST_DIGITS, Type, decimal

ROWS = "_rows"
"""The partial column that counts rows: a group is there while it has any."""

LINEAR = frozenset({"count", "sum", "avg"})


def sum_type(type_: Type) -> Type:
    """The type of partial sums of values of a type, which is one that arithmetic is done in."""
    return decimal(MOST_DIGITS, type_.scale) if type_.is_decimal else type_


def signed(values: pa.ChunkedArray, signs: Ints) -> pa.ChunkedArray:
    """The values times 1 or -1."""
    if pa.types.is_decimal(values.type):
        return opposite_where(pa.array(signs < 0), values)
    # The opposite of the least integer is itself in 64 bits, and what takes it back does the same.
    return pc.multiply(values, pa.array(signs, values.type))


def is_linear(aggregate: Aggregate) -> bool:
    return aggregate.function in LINEAR | MOMENTS and not aggregate.distinct


def is_of_distinct(aggregate: Aggregate) -> bool:
    """Whether distinct values are counted or summed."""
    return aggregate.function in LINEAR and aggregate.distinct


@dataclass(frozen=True)
class Column:
    """A partial column, how it adds up, and the number of its first accumulator."""

    partial: Partial
    adder: Adder
    start: int

    def lift(self, values: pa.ChunkedArray) -> Accumulators:
        return {self.start + number: a for number, a in self.adder.lift(values).items()}

    def of(self, accumulators: Accumulators) -> Accumulators:
        own = range(self.start, self.start + self.adder.width)
        return {number - self.start: a for number, a in accumulators.items() if number in own}


class Linear:
    """All linear aggregates of one group-by, over accumulators that they share.

    Accumulator 0 counts the rows of the group. Counts and sums of distinct values go up and down as well, when a
    value comes that the group did not hold, or the last of its kind leaves; GroupBy finds out when, and `appeared`
    says what that adds.
    """

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self._aggregates = tuple(a for a in aggregates if is_linear(a) or is_of_distinct(a))
        self._distinct: dict[tuple[str, Expression], Column] = {}
        self._columns: dict[tuple[str, Expression | None, Expression | None], Column] = {}
        self._args: list[Expression] = []
        self._width = 0
        self._add("count", None)
        for aggregate in aggregates:
            if aggregate.function == "top_k" and aggregate.by is not None:
                self._add("sum", aggregate.by)  # for GroupBy, value by value
        for aggregate in self._aggregates:
            if aggregate.arg is None:
                continue
            if is_of_distinct(aggregate):
                self._add_distinct(aggregate)
            elif aggregate.function in MOMENTS:
                self._add_moments(aggregate)
            else:
                self._add("count", aggregate.arg)
                if aggregate.function != "count":
                    self._add("sum", aggregate.arg)

    def _add(self, function: str, arg: Expression | None, other: Expression | None = None) -> None:
        if (function, arg, other) in self._columns:
            return
        name = "_".join([f"_{function}", *(str(self._number(e)) for e in (arg, other) if e is not None)])
        type_ = BIGINT if function == "count" or arg is None else sum_type(arg.type)
        partial = Partial(ROWS if arg is None else name, function, arg, type_, other)
        adder = Count() if function == "count" else adder_for(type_)
        self._columns[function, arg, other] = Column(partial, adder, self._width)
        self._width += adder.width

    def _number(self, arg: Expression) -> int:
        if arg not in self._args:
            self._args.append(arg)
        return self._args.index(arg)

    def _add_distinct(self, aggregate: Aggregate) -> None:
        arg = aggregate.arg
        assert arg is not None
        for function in ("count", "sum") if aggregate.function in ("sum", "avg") else ("count",):
            if (function, arg) not in self._distinct:
                adder = Count() if function == "count" else adder_for(sum_type(arg.type))
                partial = Partial("", function, arg, arg.type)
                self._distinct[function, arg] = Column(partial, adder, self._width)
                self._width += adder.width

    def _add_moments(self, aggregate: Aggregate) -> None:
        x, y = _pair(aggregate)
        self._add("count", x)
        self._add("sum", x)
        self._add("sum", y)
        for one, other in ((x, y), (x, x), (y, y)) if aggregate.function == "corr" else ((x, y),):
            self._add("product", one, other)
            self._add("remainder", one, other)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return tuple(column.partial for column in self._columns.values())

    @property
    def columns(self) -> tuple[Column, ...]:
        """The partial columns, with how each adds up."""
        return tuple(self._columns.values())

    def sum_of(self, arg: Expression) -> range:
        """The accumulators of a sum."""
        column = self._columns["sum", arg, None]
        return range(column.start, column.start + column.adder.width)

    @property
    def distinct(self) -> tuple[Expression, ...]:
        """The arguments whose distinct values are counted or summed."""
        return tuple(dict.fromkeys(arg for _, arg in self._distinct))

    def appeared(self, arg: Expression, values: pa.ChunkedArray, appeared: Ints) -> Accumulators:
        """What is added where a group comes to hold a value (1), or ceases to (-1)."""
        added: Accumulators = {}
        for (function, of), column in self._distinct.items():
            if of == arg and function == "count":
                added[column.start] = appeared
            elif of == arg:
                added |= {number: a * appeared for number, a in column.lift(values).items()}
        return added

    def lift(self, partials: pa.Table) -> Accumulators:
        """The accumulators of each partial row; one of negative counts takes back what another gave."""
        signs = np.where(partials.column(ROWS).to_numpy() < 0, np.int64(-1), np.int64(1))
        back = bool((signs < 0).any())
        lifted: Accumulators = {}
        for column in self._columns.values():
            values = partials.column(column.partial.name)
            if back:
                values = signed(values, signs)
                lifted |= {number: a * signs for number, a in column.lift(values).items()}
            else:
                lifted |= column.lift(values)
        return lifted

    def results(self, accumulators: Accumulators, rows: int) -> Mapping[str, pa.Array]:
        """The value of each aggregate, by its name, for each row of accumulators."""
        return {a.name: self._result(a, accumulators, rows) for a in self._aggregates}

    def _result(self, aggregate: Aggregate, accumulators: Accumulators, rows: int) -> pa.Array:
        if aggregate.function in MOMENTS:
            return self._moment(aggregate, accumulators, rows)
        counted, summed = self._columns_of(aggregate)
        counts = counted.of(accumulators).get(0, np.zeros(rows, np.int64))
        if summed is None:
            return pa.array(counts, aggregate.type.arrow)
        parts = summed.of(accumulators)
        if aggregate.function == "avg":
            sums = summed.adder.doubles(parts, rows)
            return pa.array(sums / np.maximum(counts, 1), pa.float64(), mask=counts == 0)
        return sums_of(summed.adder, parts, counts, aggregate)

    def _columns_of(self, aggregate: Aggregate) -> tuple[Column, Column | None]:
        """The count, and the sum where one is asked for."""
        arg = aggregate.arg
        if arg is not None and is_of_distinct(aggregate):
            counted, summed = self._distinct["count", arg], self._distinct.get(("sum", arg))
        else:
            counted, summed = self._columns["count", arg, None], self._columns.get(("sum", arg, None))
        return counted, summed if aggregate.function in ("sum", "avg") else None

    def _moment(self, aggregate: Aggregate, accumulators: Accumulators, rows: int) -> pa.Array:
        x, y = _pair(aggregate)
        counts = self._columns["count", x, None].of(accumulators).get(0, np.zeros(rows, np.int64))
        one, other = self._sum(x, accumulators, rows), self._sum(y, accumulators, rows)
        both = self._sum_of_products(x, y, accumulators, rows)
        is_sample = aggregate.function.endswith("_samp")
        n = counts.astype(np.float64)
        divisor = n * (n - 1) if is_sample else n * n
        found = moment(counts, one, other, both, divisor)
        none = divisor <= 0
        if aggregate.function == "corr":
            of_x, of_y = (
                moment(counts, s, s, self._sum_of_products(arg, arg, accumulators, rows), divisor)
                for arg, s in ((x, one), (y, other))
            )
            return _correlation(found, of_x, of_y, none)
        if aggregate.function not in OF_PAIRS:
            # Squares that are greater than all doubles: so is, to all that can be known, their mean.
            found[one.is_finite & (both.high == np.inf)] = np.inf
            found = np.maximum(found, 0.0)
        if aggregate.function.startswith("stddev"):
            found = np.sqrt(found)
        return pa.array(found + 0.0, pa.float64(), mask=none)

    def _sum(self, arg: Expression, accumulators: Accumulators, rows: int) -> Sum:
        return Sum.of(self._columns["sum", arg, None].of(accumulators), rows)

    def _sum_of_products(self, x: Expression, y: Expression, accumulators: Accumulators, rows: int) -> Sum:
        total = dict(self._columns["product", x, y].of(accumulators))
        for number, limb in self._columns["remainder", x, y].of(accumulators).items():
            total[number] = total[number] + limb if number in total else limb
        return Sum.of(total, rows)


def _pair(aggregate: Aggregate) -> tuple[Expression, Expression]:
    """The two columns that moments are computed of, both NULL where one is."""
    x, y = aggregate.arg, aggregate.by
    assert x is not None
    return (x, x) if y is None else (where_there(x, y), where_there(y, x))


def where_there(value: Expression, other: Expression) -> Expression:
    """The value, NULL where the other one is."""
    there = Call(BOOLEAN, "is_not_null", (other,))
    return Case(value.type, ((there, value),), Literal(value.type, None))


def _correlation(covariance: Doubles, of_x: Doubles, of_y: Doubles, none: npt.NDArray[np.bool_]) -> pa.Array:
    """NULL where one of the two does not vary; NaN before that, where a value is not finite."""
    with np.errstate(all="ignore"):
        found = covariance / (np.sqrt(np.maximum(of_x, 0.0)) * np.sqrt(np.maximum(of_y, 0.0)))
    is_odd = np.isnan(of_x) | np.isnan(of_y)
    still = none | (((of_x == 0) | (of_y == 0)) & ~is_odd)
    return pa.array(np.clip(found, -1.0, 1.0), pa.float64(), mask=still)


def sums_of(adder: Adder, parts: Accumulators, counts: Ints, call: Aggregate | OverFunction) -> pa.Array:
    """What accumulators sum up to, NULL where nothing was added. EvaluationError when one does not fit."""
    rows, none = len(counts), counts == 0
    if isinstance(adder, IntegerSum):
        whole, fits = adder.integers(parts, rows)
        if not fits.all():
            raise EvaluationError(f"{call}: the sum does not fit into 64 bits; sum a DOUBLE instead")
        return pa.array(whole, call.type.arrow, mask=none)
    if isinstance(adder, DecimalSum):
        sums, fits = adder.decimals(parts, rows)
        if not fits.all():
            raise EvaluationError(f"{call}: the sum has more than 38 digits; sum a DOUBLE instead")
        return pc.if_else(pa.array(none), pa.scalar(None, sums.type), sums)
    return pa.array(adder.doubles(parts, rows), call.type.arrow, mask=none)
