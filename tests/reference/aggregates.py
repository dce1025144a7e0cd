"""Aggregates over the rows of a group, each from all of its values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from panes.plan.expressions import Aggregate
from tests.reference.values import NAN, order, plain


def aggregate(call: Aggregate, values: Sequence[Any], by: Sequence[Any] | None = None) -> Any:
    """The result over the values of the argument, one for each row; for count(*) they are not looked at. `by` has
    those of the second argument."""
    if call.arg is None:
        return len(values)
    if by is not None:
        return _of_pairs(call, [(y, x) for y, x in zip(by, values, strict=True) if x is not None])
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
            return _sum(_once(call, there))
        case "avg":
            return plain(_sum(_once(call, there)) / len(_once(call, there)))
        case "mode":
            return _top(there, 1)[0]
        case "array_agg" | "string_agg":
            listed = _once(call, there)
            return _listed(call, listed[::-1] if call.descending else listed)
        case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return _moment(call, there, there)
        case "min":
            return there[0]
        case "max":
            return there[-1]
        case "median":
            return _quantile(there, 0.5)
        case "quantile" | "approx_quantile":
            return _quantile(there, float(call.parameters[0]))  # type: ignore[arg-type]
        case "quantile_disc":
            share = Fraction(repr(call.parameters[0]))
            return there[max(math.ceil(share * len(there)), 1) - 1]
        case "top_k_counts":
            found = _top(there, int(call.parameters[0]))  # type: ignore[arg-type]
            return tuple((("value", value), ("n", Counter(there)[value])) for value in found)
        case "top_k" | "approx_top_k":
            return _top(there, int(call.parameters[0]))  # type: ignore[arg-type]
    raise TypeError(f"the reference does not know {call}")


def _once(call: Aggregate, values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values)) if call.distinct else values


def _listed(call: Aggregate, values: list[Any]) -> Any:
    return str(call.parameters[0]).join(values) if call.function == "string_agg" else tuple(values)


def _of_pairs(call: Aggregate, pairs: list[tuple[Any, Any]]) -> Any:
    """Aggregates of two columns, of which the second (the argument) is not NULL."""
    there = sorted((pair for pair in pairs if pair[0] is not None), key=order)
    if call.function in ("array_agg", "string_agg"):
        known = sorted(there, key=lambda pair: order(pair[0]), reverse=call.descending)
        unknown = sorted((pair for pair in pairs if pair[0] is None), key=order)
        return _listed(call, [x for _, x in known + unknown]) if pairs else None
    if not there:
        return None
    match call.function:
        case "min_by" | "first":
            return there[0][1]
        case "max_by":
            return next(x for y, x in there if order(y) == order(there[-1][0]))
        case "last":
            return there[-1][1]
        case "top_k":
            sums: Counter[Any] = Counter()
            for weight, x in there:
                sums[x] += weight
            ordered = sorted(sums, key=lambda x: (-sums[x], order(x)))
            return tuple(ordered[: int(call.parameters[0])])  # type: ignore[arg-type]
    return _moment(call, [x for _, x in there], [y for y, _ in there])


def _moment(call: Aggregate, xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Variances, covariances and correlation, in fractions."""
    divisor = len(xs) - 1 if call.function.endswith("_samp") else len(xs)
    if divisor == 0:
        return None
    if not all(map(math.isfinite, [*xs, *ys])):
        return NAN
    if call.function == "corr":
        of_x, of_y = _products(xs, xs), _products(ys, ys)
        return float(_products(xs, ys)) / math.sqrt(of_x * of_y) if of_x and of_y else None
    moment = _products(xs, ys) / divisor
    return math.sqrt(moment) if call.function.startswith("stddev") else float(moment)


def _products(xs: Sequence[float], ys: Sequence[float]) -> Fraction:
    """The sum of the products of the distances from the means."""
    of_x, of_y = ([Fraction(value) for value in values] for values in (xs, ys))
    mean_x, mean_y = sum(of_x) / len(of_x), sum(of_y) / len(of_y)
    return sum(((x - mean_x) * (y - mean_y) for x, y in zip(of_x, of_y, strict=True)), Fraction(0))


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
