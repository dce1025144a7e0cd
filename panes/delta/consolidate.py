"""Deltas in the form in which two that mean the same are equal, and the relation that deltas add up to."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa

from panes.delta.delta import EXP, FOREVER, HIDDEN, TS, WEIGHT, Delta

AT = "_at"
CHANGE = "_change"


def consolidate(delta: Delta) -> Delta:
    """The delta with one row per value and lifetime; rows whose weights cancel out are gone."""
    table = _weighted(delta.table)
    same = [name for name in table.column_names if name != WEIGHT]
    return Delta(_summed(table, same, WEIGHT), delta.clock)


def changes_of(table: pa.Table) -> pa.Table:
    """What the rows of deltas do to the multiplicity of each value: how much, and when (`_at`, `_change`).

    This says all that the rows say: two sets of rows mean the same exactly when these are the same.
    """
    table = _weighted(table)
    values = [name for name in table.column_names if name not in HIDDEN]
    begins = table.select([*values, TS, WEIGHT]).rename_columns([*values, AT, CHANGE])
    ends = table.filter(pa.array(table.column(EXP).to_numpy() < FOREVER))
    ends = ends.select([*values, EXP, WEIGHT]).rename_columns([*values, AT, CHANGE])
    minus = pa.array(-ends.column(CHANGE).to_numpy())
    both = pa.concat_tables([begins, ends.set_column(len(values) + 1, CHANGE, minus)])
    return _summed(both, [*values, AT], CHANGE)


def contents_at(table: pa.Table, now: int) -> pa.Table:
    """The relation at `now`, after all these rows of deltas: each value as often as it is held."""
    table = _weighted(table)
    alive = (table.column(TS).to_numpy() <= now) & (table.column(EXP).to_numpy() > now)
    values = [name for name in table.column_names if name not in HIDDEN]
    held = _summed(table.filter(pa.array(alive)).select([*values, WEIGHT]), values, WEIGHT)
    counts = held.column(WEIGHT).to_numpy()
    if (counts < 0).any():
        some = held.filter(pa.array(counts < 0)).slice(0, 3).to_pylist()
        raise ValueError(f"more was taken back than given: {some}")
    return _repeated(held)


def difference(rows: pa.Table, others: pa.Table) -> pa.Table:
    """The rows of the first table that the second does not have, each copy by itself (EXCEPT ALL)."""
    minus = others.rename_columns(rows.column_names)
    minus = minus.append_column(WEIGHT, pa.array(np.full(others.num_rows, -1)))
    return _repeated(_summed(pa.concat_tables([_weighted(rows), minus]), rows.column_names, WEIGHT))


def _repeated(held: pa.Table) -> pa.Table:
    """Each value as often as its weight says."""
    counts = np.maximum(held.column(WEIGHT).to_numpy(), 0)
    return held.drop_columns([WEIGHT]).take(pa.array(np.repeat(np.arange(len(counts)), counts)))


def _weighted(table: pa.Table) -> pa.Table:
    if WEIGHT in table.column_names:
        return table
    return table.append_column(WEIGHT, pa.array(np.ones(table.num_rows, np.int64)))


def _summed(table: pa.Table, by: list[str], amount: str) -> pa.Table:
    frame = pl.DataFrame(table)
    if by:
        summed = frame.group_by(by, maintain_order=True).agg(pl.col(amount).sum())
    else:
        summed = frame.select(pl.col(amount).sum())
    summed = summed.filter(pl.col(amount) != 0)
    return summed.select(table.column_names).to_arrow().cast(table.schema)
