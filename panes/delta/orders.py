"""Sorting rows by sort keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import polars as pl
import pyarrow as pa

from panes.plan.sort_key import SortKey


class _Ways(TypedDict):
    descending: list[bool]
    nulls_last: list[bool]


def in_order(frame: pl.DataFrame, order: Sequence[SortKey]) -> pl.DataFrame:
    """The rows in an order."""
    return frame.sort([key.column for key in order], **_ways(order))


def places_in_order(rows: pa.Table, order: Sequence[SortKey]) -> pa.Array:
    """Where the rows are, in their order."""
    places = pl.arg_sort_by([key.column for key in order], **_ways(order))
    return pl.DataFrame(rows).select(places).to_series().to_arrow()


def _ways(order: Sequence[SortKey]) -> _Ways:
    return {
        "descending": [key.descending for key in order],
        "nulls_last": [not key.nulls_first for key in order],
    }
