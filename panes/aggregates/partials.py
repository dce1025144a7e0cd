"""What the partial rows of a group-by look like: the agreement between whoever makes them and GroupBy.

A partial row stands for the rows of one lifetime and one group that agree in the arguments of all holistic
aggregates. Its columns are the keys, those arguments (`_value_0`, …), and counts and sums.
"""

from __future__ import annotations

from panes.aggregates.base import Partial
from panes.aggregates.linear import Linear, is_linear
from panes.plan.expressions import Expression
from panes.plan.nodes import GroupBy
from panes.plan.schema import Field, Schema


def partials_of(group_by: GroupBy) -> tuple[Partial, ...]:
    """The counts and sums."""
    return Linear(group_by.aggregates).partials


def values_of(group_by: GroupBy) -> tuple[tuple[str, Expression], ...]:
    """The arguments of holistic aggregates, by the name of their column."""
    args: list[Expression] = []
    for aggregate in group_by.aggregates:
        if not is_linear(aggregate) and aggregate.arg is not None and aggregate.arg not in args:
            args.append(aggregate.arg)
    return tuple((f"_value_{number}", arg) for number, arg in enumerate(args))


def value_name(group_by: GroupBy, argument: Expression | None) -> str:
    """The column that holds an argument of holistic aggregates."""
    return next(name for name, arg in values_of(group_by) if arg == argument)


def partial_schema(group_by: GroupBy) -> Schema:
    """The columns of the partial rows, without `_ts` and `_exp`."""
    keys = tuple(group_by.child.schema[key] for key in group_by.keys)
    values = tuple(Field(name, arg.type) for name, arg in values_of(group_by))
    return Schema(keys + values + tuple(Field(p.name, p.type) for p in partials_of(group_by)))
