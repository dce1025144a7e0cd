"""Aggregates over the rows of a group, each from all of its values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from panes.plan.expressions import Aggregate
from tests.reference.values import NAN, order, plain


def aggregate(call: Aggregate, values: Sequence[Any]) -> Any:
    """The result over the values of the argument, one for each row; for count(*) they are not looked at."""
    if call.arg is None:
        return len(values)
    there = sorted((value for value in values if value is not None), key=order)
    match call.function:
        case "count":
            return len(set(there)) if call.distinct else len(there)
        case "approx_count_distinct":
            return len(set(there))
    if not there:
        return None
    match call.function:
        case "sum":
            return _sum(there)
        case "avg":
            return plain(_sum(there) / len(there))
        case "min":
            return there[0]
        case "max":
            return there[-1]
        case "median":
            return _quantile(there, 0.5)
        case "quantile" | "approx_quantile":
            return _quantile(there, float(call.parameters[0]))  # type: ignore[arg-type]
        case "top_k" | "approx_top_k":
            return _top(there, int(call.parameters[0]))  # type: ignore[arg-type]
    raise TypeError(f"the reference does not know {call}")


def _sum(values: Sequence[Any]) -> Any:
    if NAN in values:
        return NAN
    return plain(math.fsum(values)) if isinstance(values[0], float) else sum(values)


def _quantile(values: Sequence[float], fraction: float) -> float:
    """Between the two values next to the place `fraction` of the way from the least to the greatest."""
    place = fraction * (len(values) - 1)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    between: float = low if low == high else low + (high - low) * (place - math.floor(place))
    return NAN if math.isnan(between) else between


def _top(values: Sequence[Any], most: int) -> tuple[Any, ...]:
    """The most frequent values; of equally frequent ones the smaller."""
    counts = Counter(values)
    return tuple(sorted(counts, key=lambda value: (-counts[value], order(value)))[:most])
