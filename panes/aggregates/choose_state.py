"""Which state aggregates and top-n are computed from: the only place that makes such states, each with its
reason."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.aggregates.accumulator_table import AccumulatorTable
from panes.aggregates.extremes import Extremes
from panes.aggregates.frequencies import Frequencies
from panes.aggregates.ordered_rows import OrderedRows
from panes.plan.sort_key import SortKey


def choose_for_sums(keys: Sequence[str], reason: str) -> AccumulatorTable:
    """For sums and counts by key, which change by adding and subtracting."""
    return AccumulatorTable(keys, reason)


def choose_for_values(
    value_type: pa.DataType, keys: Sequence[str], reason: str, amounts: int = 0
) -> Frequencies:
    """For the values of each key in their order, with how often each is there, and amounts that are summed for
    each."""
    return Frequencies(value_type, keys, reason, amounts)


def choose_for_ends(value_type: pa.DataType, keys: Sequence[str], *, greatest: bool) -> Extremes:
    """For the least or the greatest value of each key, where nothing leaves before its known time."""
    reason = "a value that another one exceeds and outlives is never the "
    return Extremes(value_type, keys, reason + ("greatest" if greatest else "least"), greatest=greatest)


def choose_for_rows(
    columns: pa.Schema, order: Sequence[SortKey], keys: Sequence[str], most: int | None
) -> OrderedRows:
    """For the rows of each key in a total order, with how often each is there; with `most` for the first ones of
    rows that never leave."""
    reason = (
        "rows beyond the top may come up"
        if most is None
        else f"of rows that stay, the first {most} are enough"
    )
    return OrderedRows(columns, order, keys, reason, most)
