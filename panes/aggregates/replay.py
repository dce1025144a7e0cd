"""The values that groups hold after each of several changes, all at once."""

from __future__ import annotations

import numpy as np
import polars as pl

from panes.aggregates.base import Ints
from panes.aggregates.frequencies import COUNT, GROUP, VALUE

STEP = "_step"
_PAIR = "_pair"


def replayed(base: pl.DataFrame, changes: pl.DataFrame, lengths: Ints) -> pl.DataFrame:
    """What each group holds at first and after each of its steps, sorted by moment and value.

    `base` has what each group holds at first (group, value, count, amounts), `changes` what is added at a step
    of it (group, step, value, count, amounts), and `lengths` how many steps each group has. Group g has
    `lengths[g] + 1` moments, numbered on from those of the groups before it; in the result the moment stands in
    the place of the group.
    """
    both = pl.concat([base.with_columns(pl.lit(-1, pl.Int64).alias(STEP)).select(changes.columns), changes])
    pairs = both.select(GROUP, VALUE).unique().sort(GROUP, VALUE).with_row_index(_PAIR)
    at = both.join(pairs, on=[GROUP, VALUE], how="left", nulls_equal=True, maintain_order="left")
    group = pairs[GROUP].to_numpy().astype(np.int64)
    moments = lengths.astype(np.int64)[group] + 1
    begins = np.cumsum(moments, dtype=np.int64) - moments
    place = begins[at[_PAIR].to_numpy().astype(np.int64)] + at[STEP].to_numpy() + 1

    def running(amounts: pl.Series) -> Ints:
        """The sums after each moment of each pair."""
        added = np.zeros(int(moments.sum()), np.int64)
        np.add.at(added, place, amounts.to_numpy())
        summed = np.cumsum(added)
        since: Ints = summed - np.repeat(np.append(np.int64(0), summed)[begins], moments)
        return since

    held = running(at[COUNT])
    # NULL is never held, but amounts may be summed for it.
    is_null = np.repeat(pairs[VALUE].is_null().to_numpy(), moments)
    there = np.flatnonzero((held > 0) | is_null)
    pair = np.repeat(np.arange(len(moments)), moments)[there]
    first_moment = np.cumsum(lengths + 1) - (lengths + 1)
    moment = first_moment[group[pair]] + (there - begins[pair])
    # Pairs are in the order of values: only the moments are left to be sorted by.
    order = np.argsort(moment, kind="stable")
    columns = {GROUP: moment[order], VALUE: pairs[VALUE].gather(pl.Series(pair[order]))}
    columns[COUNT] = held[there][order]
    for name in changes.columns:
        if name not in (GROUP, STEP, VALUE, COUNT):
            columns[name] = running(at[name])[there][order]
    return pl.DataFrame(columns)
