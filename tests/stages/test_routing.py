"""Where rows go: shards have ranges of buckets, whatever their number."""

from __future__ import annotations

import numpy as np
import pytest

from panes.delta.hashing import BUCKETS
from panes.stages.routing import overlapping, shards_of

ALL_BUCKETS = np.arange(BUCKETS, dtype=np.uint64) + np.uint64(7 << 40)


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 7, 1000, 1024])
def test_buckets_are_spread_evenly_over_any_number_of_shards(shards: int) -> None:
    counts = np.bincount(shards_of(ALL_BUCKETS, shards), minlength=shards)
    assert len(counts) == shards
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(("shards", "others"), [(1, 5), (2, 5), (5, 2), (3, 3), (1000, 1024), (7, 1)])
def test_a_shard_overlaps_with_those_that_have_one_of_its_buckets(shards: int, others: int) -> None:
    mine, theirs = shards_of(ALL_BUCKETS, shards), shards_of(ALL_BUCKETS, others)
    for shard in range(0, shards, max(1, shards // 50)):
        assert list(overlapping(shard, shards, others)) == sorted(set(theirs[mine == shard].tolist()))
