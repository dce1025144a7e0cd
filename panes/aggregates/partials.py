"""What the partial rows of a group-by look like: the agreement between whoever makes them and GroupBy.

A partial row stands for the rows of one lifetime and one group that agree in what all holistic aggregates keep.
Its columns are the keys, those values (`_value_0`, …), and counts and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.aggregates.base import Partial
from panes.aggregates.linear import Linear, is_linear
from panes.aggregates.pairs import pairs_of
from panes.aggregates.products import sums_are_exact
from panes.delta.evaluate import evaluate
from panes.plan.expressions import Aggregate, Expression
from panes.plan.nodes import GroupBy
from panes.plan.schema import Field, Schema
from panes.plan.types import BINARY, DOUBLE, Type


@dataclass(frozen=True)
class KeptValue:
    """What a holistic aggregate keeps of each row: its argument, or the pair of `by` and the argument."""

    arg: Expression
    by: Expression | None = None
    descending: bool = False
    """Whether pairs go from the greatest `by` to the least."""
    nulls_first: bool = False
    """Whether pairs without a `by` come first and not last: never where they would be taken for the one that is
    looked for."""

    @classmethod
    def of(cls, aggregate: Aggregate) -> KeptValue:
        assert aggregate.arg is not None
        if aggregate.by is None:
            return cls(aggregate.arg)
        descending = aggregate.descending or aggregate.function == "max_by"
        return cls(aggregate.arg, aggregate.by, descending, nulls_first=aggregate.function == "last")

    @property
    def args(self) -> tuple[Expression, ...]:
        return (self.arg,) if self.by is None else (self.arg, self.by)

    @property
    def type(self) -> Type:
        return self.arg.type if self.by is None else BINARY

    def column(self, table: pa.Table) -> pa.Array | pa.ChunkedArray:
        """The values of the rows of a table."""
        values = evaluate(self.arg, table)
        if self.by is None:
            return values
        by = evaluate(self.by, table)
        return pairs_of(by, values, descending=self.descending, nulls_first=self.nulls_first)


def partials_of(group_by: GroupBy) -> tuple[Partial, ...]:
    """The counts and sums."""
    return Linear(group_by.aggregates).partials


def can_round(partials: Sequence[Partial], rows: pa.Table, most: int) -> bool:
    """Whether sums of up to that many rows may be taken as doubles: where products are summed as well, only if
    none of the sums is rounded."""
    if not any(partial.other is not None for partial in partials):
        return True
    doubles = (rows.column(partial.name) for partial in partials if partial.type == DOUBLE)
    return all(sums_are_exact(column.fill_null(0.0).to_numpy(), most) for column in doubles)


def values_of(group_by: GroupBy) -> tuple[tuple[str, KeptValue], ...]:
    """What holistic aggregates keep, by the name of its column."""
    kept = (KeptValue.of(a) for a in group_by.aggregates if not is_linear(a) and a.arg is not None)
    return tuple((f"_value_{number}", value) for number, value in enumerate(dict.fromkeys(kept)))


def value_name(group_by: GroupBy, value: KeptValue) -> str:
    """The column that holds what a holistic aggregate keeps."""
    return next(name for name, kept in values_of(group_by) if kept == value)


def partial_schema(group_by: GroupBy) -> Schema:
    """The columns of the partial rows, without `_ts` and `_exp`."""
    keys = tuple(group_by.child.schema[key] for key in group_by.keys)
    values = tuple(Field(name, value.type) for name, value in values_of(group_by))
    return Schema(keys + values + tuple(Field(p.name, p.type) for p in partials_of(group_by)))
