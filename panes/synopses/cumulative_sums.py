"""Sums over windows that end together, from one pass over the rows of the longest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates.linear import ROWS
from panes.delta.delta import TS
from panes.delta.rows import int64, take
from panes.operators.tools.combined_partials import can_combine
from panes.synopses.group_numbers import group_numbers
from panes.synopses.layout import UPTO, Layout

_SHORTEST = "_shortest"
"""The number of the shortest window that a row is in."""
_NULL_IS_ZERO = pc.ScalarAggregateOptions(min_count=0)


def cumulative_sums(layout: Layout, rows: pa.Table, at: int, lengths: Sequence[int]) -> list[pa.Table] | None:
    """The rows of each window merged by group, for windows that end at an instant, shortest first; None where sums
    of integers do not say all that the rows say. `rows` are those of the longest window.

    Rows are merged by group and by the shortest window that they are in, whatever the number of windows. Then the
    sums of each window are those of the shorter one before it, and what its own rows add.
    """
    keys, names = list(layout.keys), [partial.name for partial in layout.partials]
    if not layout.is_subtractable or not all(_is_plain(layout.schema.field(key).type) for key in keys):
        return None
    if not can_combine(layout.partials, rows, is_weighted=False):
        return None
    schema = pa.schema([field for field in layout.schema if field.name not in (TS, UPTO)])
    shortest = np.searchsorted(np.array(lengths, np.int64), at - int64(rows, UPTO), side="right")
    added = (
        rows.select([*keys, *names])
        .append_column(_SHORTEST, pa.array(shortest))
        .group_by([*keys, _SHORTEST], use_threads=False)
        .aggregate([(name, "sum", _NULL_IS_ZERO) for name in names])
    )
    added = take(added, np.argsort(int64(added, _SHORTEST), kind="stable"))
    group, example = group_numbers(added.select(keys), added.num_rows)
    groups = take(added.select(keys), example)
    ends = np.searchsorted(int64(added, _SHORTEST), np.arange(len(lengths)), side="right")
    adds = {name: int64(added, f"{name}_sum") for name in names}
    sums = {name: np.zeros(len(example), np.int64) for name in names}
    found, first = [], 0
    for end in ends:
        mine = group[first:end]
        for name in names:
            # A group has one row at most for each window.
            sums[name][mine] += adds[name][first:end]
        held = np.flatnonzero(sums[ROWS])
        columns = dict(zip(keys, take(groups, held).columns, strict=True)) if keys else {}
        columns |= {name: pa.array(sums[name][held]) for name in names}
        found.append(pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema))
        first = end
    return found


def _is_plain(type_: pa.DataType) -> bool:
    """Whether Arrow groups values of a type by what they are: it tells 0.0 from -0.0, and does not group lists."""
    return not pa.types.is_floating(type_) and not pa.types.is_nested(type_)
