"""Which state aggregates are computed from: the only place that makes those states, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.aggregates.accumulator_table import AccumulatorTable
from panes.aggregates.frequencies import Frequencies


def choose_for_sums(keys: Sequence[str], reason: str) -> AccumulatorTable:
    """For sums and counts by key, which change by adding and subtracting."""
    return AccumulatorTable(keys, reason)


def choose_for_values(value_type: pa.DataType, keys: Sequence[str], reason: str) -> Frequencies:
    """For the values of each key in their order, with how often each is there."""
    return Frequencies(value_type, keys, reason)
