"""What the partial rows of a group-by look like: the agreement between whoever makes them and GroupBy.

A partial row stands for the rows of one lifetime and one group that agree in what all holistic aggregates keep.
Its columns are the keys, those values (`_value_0`, …), and counts and sums. Where only the most frequent values
of each pane are kept, a value that is none of them is NULL, and `_bound_0`, … say how often such a value may
occur: in a row without a value what its pane adds to that, in a row with a value what a pane adds that lists it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from panes.aggregates.base import Partial
from panes.aggregates.distinct_sketch import cells_of
from panes.aggregates.linear import Linear, is_linear, where_there
from panes.aggregates.pairs import pairs_of
from panes.aggregates.products import sums_are_exact
from panes.aggregates.rounded_values import rounded_values
from panes.delta.evaluate import evaluate
from panes.delta.hashing import hash_rows
from panes.plan.expressions import Aggregate, Expression
from panes.plan.nodes import GroupBy
from panes.plan.schema import Field, Schema
from panes.plan.stated_error import counters_of
from panes.plan.types import BIGINT, BINARY, DOUBLE, INT, Type

_Form = Literal["value", "cell", "rounded"]
_FORMS: dict[str, _Form] = {"approx_count_distinct": "cell", "approx_quantile": "rounded"}


@dataclass(frozen=True)
class KeptValue:
    """What a holistic aggregate keeps of each row: its argument, or the pair of `by` and the argument; an
    approximate one what its sketch counts."""

    arg: Expression
    by: Expression | None = None
    descending: bool = False
    """Whether pairs go from the greatest `by` to the least."""
    nulls_first: bool = False
    """Whether pairs without a `by` come first and not last: never where they would be taken for the one that is
    looked for."""
    form: _Form = "value"
    """The value itself, the cell of its hash, or the value without its last bits."""
    most: int | None = None
    """How many values are kept of each pane, or of a stream: the most frequent ones. None: all of them."""
    has_bounds: bool = False
    """Whether is kept how often the others may occur."""
    weight: Expression | None = None
    """What is summed for each value."""

    @classmethod
    def of(cls, aggregate: Aggregate) -> KeptValue:
        assert aggregate.arg is not None
        if aggregate.function in _FORMS and not aggregate.path:
            return cls(aggregate.arg, form=_FORMS[aggregate.function])
        if aggregate.by is None:
            return cls(aggregate.arg)
        if aggregate.function == "top_k":
            return cls(where_there(aggregate.arg, aggregate.by), weight=aggregate.by)
        descending = aggregate.descending or aggregate.function == "max_by"
        return cls(aggregate.arg, aggregate.by, descending, nulls_first=aggregate.function == "last")

    @property
    def args(self) -> tuple[Expression, ...]:
        return tuple(arg for arg in (self.arg, self.by, self.weight) if arg is not None)

    @property
    def type(self) -> Type:
        if self.form == "cell":
            return INT
        return self.arg.type if self.by is None else BINARY

    def column(self, table: pa.Table) -> pa.Array | pa.ChunkedArray:
        """The values of the rows of a table."""
        values = evaluate(self.arg, table)
        if self.form == "rounded":
            return rounded_values(values)
        if self.form == "cell":
            cells = cells_of(hash_rows(pa.table({"value": values}), ["value"]))
            return pa.array(cells, mask=np.asarray(values.is_null()))
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
    kept = (kept_value(group_by, a) for a in group_by.aggregates if not is_linear(a) and a.arg is not None)
    return tuple((f"_value_{number}", value) for number, value in enumerate(dict.fromkeys(kept)))


def kept_value(group_by: GroupBy, aggregate: Aggregate) -> KeptValue:
    """What an aggregate keeps of the rows of its group-by."""
    most = counters_of(group_by, aggregate)
    if most is None:
        return KeptValue.of(aggregate)
    assert aggregate.arg is not None
    return KeptValue(aggregate.arg, most=most, has_bounds=aggregate.function != "approx_top_k")


def cut_values_of(group_by: GroupBy) -> tuple[tuple[str, KeptValue, int], ...]:
    """Those of which only the most frequent are kept, with how many that are."""
    return tuple((name, value, value.most) for name, value in values_of(group_by) if value.most is not None)


def bound_name(value_column: str) -> str:
    """The column of the bounds of a column of values."""
    return value_column.replace("_value_", "_bound_")


def value_name(group_by: GroupBy, value: KeptValue) -> str:
    """The column that holds what a holistic aggregate keeps."""
    return next(name for name, kept in values_of(group_by) if kept == value)


def partial_schema(group_by: GroupBy) -> Schema:
    """The columns of the partial rows, without `_ts` and `_exp`."""
    keys = tuple(group_by.child.schema[key] for key in group_by.keys)
    values = tuple(Field(name, value.type) for name, value in values_of(group_by))
    return Schema(keys + values + tuple(Field(p.name, p.type) for p in partials_of(group_by)))


def cut_schema(group_by: GroupBy) -> Schema:
    """The columns of the partial rows that come to be added up: also the bounds of values that were left out."""
    bounds = (bound_name(name) for name, value, _ in cut_values_of(group_by) if value.has_bounds)
    return Schema(partial_schema(group_by).fields + tuple(Field(name, BIGINT) for name in bounds))
