"""Versions of a table as intervals: from when on, and until when, the table has each row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, TS, WEIGHT
from panes.delta.grouped import are_first
from panes.delta.keys import group_rows
from panes.delta.rows import int64, take, with_column, without


def version_intervals(versions: pa.Table) -> pa.Table:
    """The rows that a table ever had: its columns, `_ts` and `_exp`, a row for each time that it has an equal one.

    `versions` have the columns, `_ts` and `_weight`.
    """
    versions = versions.combine_chunks()
    values = without(versions, TS, WEIGHT)
    ts, weight = int64(versions, TS), int64(versions, WEIGHT)
    codes = _codes(values)
    order = np.lexsort((ts, codes))
    codes, ts = codes[order], ts[order]
    # What a row is after all changes of an instant counts.
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = (codes[1:] != codes[:-1]) | (ts[1:] != ts[:-1])
    held = np.cumsum(weight[order])[is_last]
    place, codes, ts = order[is_last], codes[is_last], ts[is_last]
    begins = np.flatnonzero(are_first(codes))
    before = np.concatenate([[0], held])[begins]
    held = held - np.repeat(before, np.diff([*begins, len(codes)]))
    exp = np.full(len(ts), FOREVER)
    exp[:-1] = np.where(codes[1:] == codes[:-1], ts[1:], FOREVER)
    chosen = np.repeat(np.arange(len(held)), np.maximum(held, 0))
    rows = take(values, place[chosen]) if values.num_columns else _without_columns(len(chosen))
    return without(with_column(with_column(rows, TS, ts[chosen]), EXP, exp[chosen]), _NOTHING)


_NOTHING = "_nothing"


def _without_columns(rows: int) -> pa.Table:
    return pa.table({_NOTHING: pa.nulls(rows)})


def _codes(values: pa.Table) -> np.typing.NDArray[np.int64]:
    """A number for each row, the same for equal ones."""
    if not values.num_columns or not values.num_rows:
        return np.zeros(values.num_rows, np.int64)
    return group_rows(values, values.column_names).codes
