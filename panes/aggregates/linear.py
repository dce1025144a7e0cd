"""count, sum and avg, and the count of distinct values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.adders import Adder, Count, DecimalSum, IntegerSum, adder_for
from panes.aggregates.base import Accumulators, Ints, Partial
from panes.delta.decimals import opposite_where
from panes.errors import EvaluationError
from panes.plan.expressions import Aggregate, Expression
from panes.plan.over_functions import OverFunction
from panes.plan.types import BIGINT, MOST_DIGITS, Type, decimal

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
    return aggregate.function in LINEAR and not aggregate.distinct


def is_count_distinct(aggregate: Aggregate) -> bool:
    """Whether distinct values are counted; the approximate form is answered exactly."""
    return aggregate.function == "approx_count_distinct" or (
        aggregate.function == "count" and aggregate.distinct
    )


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

    Accumulator 0 counts the rows of the group. The count of distinct values goes up and down by one as well,
    when a value comes that the group did not hold, or the last of its kind leaves; GroupBy finds out when,
    and adds it to the accumulator that `distinct` names.
    """

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self._aggregates = tuple(a for a in aggregates if is_linear(a) or is_count_distinct(a))
        self.distinct: dict[Expression, int] = {}
        self._columns: dict[tuple[str, Expression | None], Column] = {}
        self._width = 0
        self._add("count", None, ROWS)
        args: list[Expression] = []
        for aggregate in self._aggregates:
            if aggregate.arg is None:
                continue
            if is_count_distinct(aggregate):
                if aggregate.arg not in self.distinct:
                    self.distinct[aggregate.arg] = self._width
                    self._width += 1
                continue
            if aggregate.arg not in args:
                args.append(aggregate.arg)
            number = args.index(aggregate.arg)
            self._add("count", aggregate.arg, f"_count_{number}")
            if aggregate.function != "count":
                self._add("sum", aggregate.arg, f"_sum_{number}")

    def _add(self, function: str, arg: Expression | None, name: str) -> None:
        if (function, arg) in self._columns:
            return
        type_ = BIGINT if function == "count" or arg is None else sum_type(arg.type)
        adder = Count() if function == "count" else adder_for(type_)
        self._columns[function, arg] = Column(Partial(name, function, arg, type_), adder, self._width)
        self._width += adder.width

    @property
    def partials(self) -> tuple[Partial, ...]:
        return tuple(column.partial for column in self._columns.values())

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
        if aggregate.arg is not None and is_count_distinct(aggregate):
            counts = accumulators.get(self.distinct[aggregate.arg], np.zeros(rows, np.int64))
            return pa.array(counts, aggregate.type.arrow)
        counted = self._columns["count", aggregate.arg].of(accumulators)
        counts = counted.get(0, np.zeros(rows, np.int64))
        if aggregate.function == "count":
            return pa.array(counts, aggregate.type.arrow)
        summed = self._columns["sum", aggregate.arg]
        parts = summed.of(accumulators)
        if aggregate.function == "avg":
            sums = summed.adder.doubles(parts, rows)
            return pa.array(sums / np.maximum(counts, 1), pa.float64(), mask=counts == 0)
        return sums_of(summed.adder, parts, counts, aggregate)


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
