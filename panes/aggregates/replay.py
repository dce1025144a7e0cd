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

    `base` has what each group holds at first (group, value, count), `changes` what is added at a step of it
    (group, step, value, count), and `lengths` how many steps each group has. Group g has `lengths[g] + 1` moments,
    numbered on from those of the groups before it; in the result the moment stands in the place of the group.
    """
    both = pl.concat([base.select(GROUP, pl.lit(-1, pl.Int64).alias(STEP), VALUE, COUNT), changes])
    pairs = both.select(GROUP, VALUE).unique().sort(GROUP, VALUE).with_row_index(_PAIR)
    at = both.join(pairs, on=[GROUP, VALUE], how="left", nulls_equal=True, maintain_order="left")
    group = pairs[GROUP].to_numpy().astype(np.int64)
    moments = lengths.astype(np.int64)[group] + 1
    begins = np.cumsum(moments, dtype=np.int64) - moments
    counts = np.zeros(int(moments.sum()), np.int64)
    place = begins[at[_PAIR].to_numpy().astype(np.int64)] + at[STEP].to_numpy() + 1
    np.add.at(counts, place, at[COUNT].to_numpy())
    summed = np.cumsum(counts)
    before = np.append(np.int64(0), summed)[begins]
    held = summed - np.repeat(before, moments)
    there = np.flatnonzero(held > 0)
    pair = np.repeat(np.arange(len(moments)), moments)[there]
    first_moment = np.cumsum(lengths + 1) - (lengths + 1)
    moment = first_moment[group[pair]] + (there - begins[pair])
    # Pairs are in the order of values: only the moments are left to be sorted by.
    order = np.argsort(moment, kind="stable")
    values = pairs[VALUE].gather(pl.Series(pair[order]))
    return pl.DataFrame({GROUP: moment[order], VALUE: values, COUNT: held[there][order]})
