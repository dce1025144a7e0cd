"""Aggregates of users: computed anew, from all values that a group holds, when the group changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl
import pyarrow as pa

from panes.aggregates.frequencies import COUNT, GROUP, VALUE
from panes.delta.imported import imported
from panes.errors import EvaluationError
from panes.plan.expressions import Aggregate


def own_results(aggregate: Aggregate, values: pl.DataFrame) -> pl.DataFrame:
    """The aggregate of each group that holds a value, from its values in their order with their counts."""
    groups = values.group_by(GROUP, maintain_order=True).agg(VALUE, COUNT)
    results = [
        own_result(aggregate, zip(held, counts, strict=True))
        for held, counts in zip(groups[VALUE].to_list(), groups[COUNT].to_list(), strict=True)
    ]
    return groups.select(GROUP).with_columns(pl.Series(VALUE, typed(aggregate, results)))


def own_result(aggregate: Aggregate, values: Iterable[tuple[Any, int]]) -> Any:
    """The aggregate of values, each with how often it is there."""
    made = imported(aggregate.path)
    try:
        methods = made()
        state = methods.zero()
        for value, count in values:
            for _ in range(count):
                state = methods.add(state, value)
        return methods.result(state)
    except Exception as error:
        raise EvaluationError(
            f"the aggregate {aggregate.function} ({aggregate.path}) failed: {type(error).__name__}: {error}"
        ) from error


def typed(aggregate: Aggregate, results: list[Any]) -> pa.Array:
    """The results in the type that the aggregate was created with."""
    try:
        return pa.array(results, aggregate.type.arrow)
    except Exception as error:
        raise EvaluationError(
            f"the aggregate {aggregate.function} ({aggregate.path}) gave what is no {aggregate.type}: {error}"
        ) from error
