"""What is kept ready beside tuples, so that an aggregate of any range of them takes a few looks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.amounts import amounts
from panes.aggregates.base import Accumulators
from panes.aggregates.linear import Column, Linear, is_linear
from panes.delta.evaluate import evaluate
from panes.delta.orders import places_in_order
from panes.delta.rows import array_of, take
from panes.plan.expressions import Aggregate, Expression, columns_of
from panes.plan.sort_key import SortKey
from panes.synopses.ranked_tree import Places, greatest_of, ranked_tree

Columns = dict[str, npt.NDArray[np.int64] | npt.NDArray[np.int32]]
"""Columns of the length of the tuples, by name."""
ENDS = ("min", "max")


def is_measured(aggregate: Aggregate) -> bool:
    """Whether an aggregate can be had from measures."""
    return not aggregate.path and (is_linear(aggregate) or aggregate.function in ENDS)


@dataclass(frozen=True)
class RunningSum:
    """The sums of a partial column over all tuples up to each, as accumulators: a range is the difference of two
    of them, without any rounding."""

    column: Column

    @cached_property
    def name(self) -> str:
        partial = self.column.partial
        return _name(partial.function, partial.type, partial.arg, partial.other)

    @property
    def marker(self) -> str:
        """A column that is there when the measure is."""
        return f"{self.name}_0"

    def columns(self, rows: pa.Table) -> Columns:
        """What is kept beside rows in this order."""
        ones = pa.array(np.ones(rows.num_rows, np.int64))
        values = amounts(self.column.partial, rows, ones)
        lifted = self.column.adder.lift(
            pa.chunked_array([values]) if isinstance(values, pa.Array) else values
        )
        lifted.setdefault(0, np.zeros(rows.num_rows, np.int64))
        return {f"{self.name}_{number}": np.cumsum(part) for number, part in lifted.items()}

    def of_ranges(self, kept: pa.Table, begins: Places, ends: Places) -> Accumulators:
        """The sums of ranges that are not empty, under the numbers that the column has for them."""
        found: Accumulators = {}
        for number in range(self.column.adder.width):
            name = f"{self.name}_{number}"
            if name in kept.column_names:
                sums = _numbers(kept, name)
                before = np.where(begins > 0, sums[np.maximum(begins, 1) - 1], 0)
                found[self.column.start + number] = sums[ends - 1] - before
        return found


@dataclass(frozen=True)
class RankedEnd:
    """The ranks of the values of an expression among the tuples, and the ranked tree over them.

    The one that is looked for has the greatest rank, NULL has 0. So values of all types that have an order are
    alike.
    """

    is_greatest: bool
    arg: Expression

    @cached_property
    def name(self) -> str:
        return _name("max" if self.is_greatest else "min", self.arg.type, self.arg)

    @property
    def marker(self) -> str:
        return f"{self.name}_ranks"

    def columns(self, rows: pa.Table) -> Columns:
        """What is kept beside rows in this order: ranks, the tree, and which row has each rank."""
        order, count = ordered(_whole(evaluate(self.arg, rows)), is_greatest=self.is_greatest)
        ranks = np.zeros(rows.num_rows, np.int32)
        ranks[order[:count]] = np.arange(1, count + 1)
        return {
            self.marker: ranks,
            f"{self.name}_tree": ranked_tree(ranks),
            f"{self.name}_rows": order.astype(np.int32),
        }

    def of_ranges(self, kept: pa.Table, begins: Places, ends: Places) -> pa.Array:
        """The end of each range; NULL where no tuple has a value."""
        tree, ranks, rows = (_numbers(kept, f"{self.name}_{part}") for part in ("tree", "ranks", "rows"))
        found = greatest_of(tree, ranks, begins, ends, 0)
        taken = take(kept, rows[np.maximum(found, 1) - 1], [*columns_of(self.arg)] or [self.marker])
        return null_where(_whole(evaluate(self.arg, taken)), found == 0)


Measure = RunningSum | RankedEnd


def measures_of(aggregates: Sequence[Aggregate]) -> tuple[Measure, ...]:
    """The measures that some aggregates need. How many tuples there are needs none."""
    found: list[Measure] = [RunningSum(c) for c in Linear(aggregates).columns if c.partial.arg is not None]
    found += [end for end in map(end_of, aggregates) if end is not None]
    return tuple({measure.name: measure for measure in found}.values())


def end_of(aggregate: Aggregate) -> RankedEnd | None:
    """The measure of a least or greatest value; None of another aggregate."""
    if aggregate.arg is None or aggregate.function not in ENDS:
        return None
    return RankedEnd(aggregate.function == "max", aggregate.arg)


def ordered(values: pa.Array, *, is_greatest: bool) -> tuple[Places, int]:
    """The places of values in their order, with those that are NULL last, and how many are not: the greatest is
    the last of these, or the least unless `is_greatest`."""
    order = (SortKey("value", descending=not is_greatest),)
    places = places_in_order(pa.table({"value": values}), order).to_numpy(zero_copy_only=False)
    return places.astype(np.int64), len(values) - values.null_count


def null_where(values: pa.Array, mask: npt.NDArray[np.bool_]) -> pa.Array:
    """The values, NULL where the mask is set."""
    return pc.if_else(pa.array(mask), pa.scalar(None, values.type), values) if mask.any() else values


def _name(function: str, *parts: object) -> str:
    """A name that equal measures have in every process."""
    return f"_{function}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


def _numbers(table: pa.Table, name: str) -> npt.NDArray[Any]:
    numbers: npt.NDArray[Any] = array_of(table, name).to_numpy()
    return numbers


def _whole(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
