"""min, max, quantile, median, mode and top_k, aggregates of pairs, lists and sketches: from the counts of the
values of each group to a result.

Values are ordered as everywhere: NaN is greater than all numbers. Of the approximate forms, the values that are
counted are those of a sketch.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa

from panes.aggregates.adders import Doubles
from panes.aggregates.base import Ints
from panes.aggregates.distinct_sketch import distinct_in_cells
from panes.aggregates.frequencies import COUNT, GROUP, VALUE, amount_name
from panes.aggregates.own_results import own_results
from panes.aggregates.pairs import has_first, seconds_of
from panes.aggregates.partials import KeptValue
from panes.delta.grouped import starts_of
from panes.plan.aggregates import exact_share
from panes.plan.expressions import Aggregate

ENDS = {"min": False, "max": True, "min_by": False, "max_by": False, "first": False, "last": True}
"""The aggregates that take the least value or pair, or the greatest (true); the pairs of max_by are in the order
from the greatest to the least."""

_WITH_COUNT = pl.struct(pl.col(VALUE).alias("value"), pl.col(COUNT).alias("n"))
_THRESHOLD = "_threshold"


def result(aggregate: Aggregate, values: pl.DataFrame, groups: int) -> pa.Array:
    """The value of the aggregate for each of the groups, NULL for a group that holds no value.

    `values` has the values that each group holds, with their counts, sorted by group and value.
    """
    if aggregate.path:
        return _spread(own_results(aggregate, values), aggregate, groups)
    match aggregate.function:
        case "approx_count_distinct":
            return _distinct(values, groups)
        case "min":
            found = values.group_by(GROUP, maintain_order=True).agg(pl.col(VALUE).first())
        case "max":
            found = values.group_by(GROUP, maintain_order=True).agg(pl.col(VALUE).last())
        case "quantile" | "approx_quantile":
            (fraction,) = aggregate.parameters
            assert isinstance(fraction, (int, float))
            found = _quantile(values, float(fraction))
        case "quantile_disc":
            found = _at_share(values, exact_share(aggregate.parameters[0]))
        case "median":
            found = _quantile(values, 0.5)
        case "top_k" | "approx_top_k" | "top_k_counts":
            (k,) = aggregate.parameters
            assert isinstance(k, int)
            item = _WITH_COUNT if aggregate.function == "top_k_counts" else pl.col(VALUE)
            found = _most_frequent(values, k, item) if aggregate.by is None else _heaviest(values, k)
        case "frequent":
            found = _over_threshold(values)
        case "frequent_threshold":
            return _thresholds(values, groups)
        case "mode":
            found = _most_frequent(values, 1, pl.col(VALUE)).with_columns(pl.col(VALUE).list.first())
        case "array_agg" | "string_agg":
            found = _listed(aggregate, values)
        case "min_by" | "max_by" | "first" | "last":
            found = _of_one_pair(aggregate, values)
        case other:
            raise TypeError(f"there is no aggregate {other}")
    return _spread(found, aggregate, groups)


def _distinct(values: pl.DataFrame, groups: int) -> pa.Array:
    """About how many values each group holds, from the cells of their hashes."""
    group, cells = values[GROUP].to_numpy().astype(np.int64), values[VALUE].to_numpy()
    return pa.array(np.rint(distinct_in_cells(group, cells, groups)).astype(np.int64))


def _quantile(values: pl.DataFrame, fraction: float) -> pl.DataFrame:
    """Between the two values next to the place `fraction` of the way from the least to the greatest."""
    if not values.height:
        return values.select(GROUP, VALUE)
    group = values[GROUP].to_numpy()
    starts = starts_of(group)
    counted = np.cumsum(values[COUNT].to_numpy())
    before = np.concatenate([[0], counted])[starts]
    total = np.diff(np.append(before, counted[-1]))
    place = fraction * (total - 1)
    low = _ranked(values, counted, before + np.floor(place).astype(np.int64))
    high = _ranked(values, counted, before + np.ceil(place).astype(np.int64))
    with np.errstate(invalid="ignore"):  # between two infinite values lies either that value, or NaN
        between = np.where(low == high, low, low + (high - low) * (place - np.floor(place)))
    return pl.DataFrame({GROUP: group[starts], VALUE: between})


def _at_share(values: pl.DataFrame, share: Decimal) -> pl.DataFrame:
    """The least value that as many values as the share says do not exceed."""
    if not values.height:
        return values.select(GROUP, VALUE)
    starts = starts_of(values[GROUP].to_numpy())
    counted = np.cumsum(values[COUNT].to_numpy())
    before = np.concatenate([[0], counted])[starts]
    total = np.diff(np.append(before, counted[-1]))
    # Of integers of any length: a share of a double would miss the place where its product is not whole.
    part, whole = share.as_integer_ratio()
    rank = np.maximum(-(-total.astype(object) * part // whole), 1).astype(np.int64)
    found: pl.DataFrame = values.select(GROUP, VALUE)[np.searchsorted(counted, before + rank, side="left")]
    return found


def _ranked(values: pl.DataFrame, counted: Ints, ranks: Ints) -> Doubles:
    at = np.searchsorted(counted, ranks, side="right")
    return np.asarray(values[VALUE].cast(pl.Float64).to_numpy()[at])


def _most_frequent(values: pl.DataFrame, k: int, item: pl.Expr) -> pl.DataFrame:
    ordered = values.sort(GROUP, COUNT, VALUE, descending=[False, True, False])
    return ordered.group_by(GROUP, maintain_order=True).agg(item.head(k).alias(VALUE))


def _heaviest(values: pl.DataFrame, k: int) -> pl.DataFrame:
    """The values with the greatest sums, which may be greater than 64 bits hold: each is in two halves."""
    low, high = (pl.col(amount_name(number)) for number in range(2))
    there = values.filter(pl.col(VALUE).is_not_null())
    carried = there.with_columns(_high=high + low // (1 << 32), _low=low % (1 << 32))
    ordered = carried.sort(GROUP, "_high", "_low", VALUE, descending=[False, True, True, False])
    return ordered.group_by(GROUP, maintain_order=True).agg(pl.col(VALUE).head(k))


def _over_threshold(values: pl.DataFrame) -> pl.DataFrame:
    """The values that occur more often in the lists of panes than any value can that is in none of them, with the
    least and the greatest number of times that they can occur.

    A value may occur as often as the lists say that have it, and in every other pane as often as a value can that
    is not on the list of the pane.
    """
    bound, threshold = pl.col(amount_name(0)), pl.col(_THRESHOLD)
    of_group = values.filter(pl.col(VALUE).is_null()).select(GROUP, bound.alias(_THRESHOLD))
    listed = (
        values.filter(pl.col(VALUE).is_not_null())
        .join(of_group, on=GROUP, how="left", maintain_order="left")
        .with_columns(threshold.fill_null(0))
        .sort(GROUP, COUNT, VALUE, descending=[False, True, False])
    )
    at_least = pl.col(COUNT).alias("at_least")
    item = pl.struct(
        pl.col(VALUE).alias("value"), at_least, (pl.col(COUNT) + threshold - bound).alias("at_most")
    )
    return listed.group_by(GROUP, maintain_order=True).agg(
        item.filter(pl.col(COUNT) > threshold).alias(VALUE)
    )


def _thresholds(values: pl.DataFrame, groups: int) -> pa.Array:
    """How often a value can occur that is on none of the lists of panes."""
    of_group = values.filter(pl.col(VALUE).is_null())
    found = np.zeros(groups, np.int64)
    found[of_group[GROUP].to_numpy()] = of_group[amount_name(0)].to_numpy()
    return pa.array(found)


def _listed(aggregate: Aggregate, values: pl.DataFrame) -> pl.DataFrame:
    """All values in their order, as a list or as one text."""
    copies = np.ones(values.height, np.int64) if aggregate.distinct else values[COUNT].to_numpy()
    listed = _without_pairs(aggregate, values[np.repeat(np.arange(values.height), copies)])
    if aggregate.by is None and aggregate.descending:
        listed = listed.reverse()
    value = pl.col(VALUE)
    if aggregate.function == "string_agg":
        (separator,) = aggregate.parameters
        value = value.str.join(str(separator))
    return listed.group_by(GROUP, maintain_order=True).agg(value)


def _of_one_pair(aggregate: Aggregate, values: pl.DataFrame) -> pl.DataFrame:
    """The argument where `by` is least, or greatest; NULL where `by` always is."""
    value = pl.col(VALUE)
    ends = values.group_by(GROUP, maintain_order=True).agg(
        value.last() if ENDS[aggregate.function] else value.first()
    )
    there = ends.filter(pl.Series(has_first(ends[VALUE].to_arrow())))
    return _without_pairs(aggregate, there)


def _without_pairs(aggregate: Aggregate, values: pl.DataFrame) -> pl.DataFrame:
    """The values of the argument, where pairs are kept."""
    kept = KeptValue.of(aggregate)
    if kept.by is None:
        return values.select(GROUP, VALUE)
    types = kept.by.type.arrow, kept.arg.type.arrow
    seconds = seconds_of(values[VALUE].to_arrow(), *types, descending=kept.descending)
    return values.select(GROUP, pl.Series(VALUE, seconds))


def _spread(found: pl.DataFrame, aggregate: Aggregate, groups: int) -> pa.Array:
    places = np.full(groups, -1)
    places[found[GROUP].to_numpy()] = np.arange(found.height)
    column = found[VALUE].to_arrow().cast(aggregate.type.arrow)
    return column.take(pa.array(places, mask=places < 0))
