from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta.delta import EXP
from panes.delta.hashing import HASH, Hashes
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.hash_search import Directory, HashSearch, Pairs, find, find_each

hashes = st.lists(
    st.one_of(st.sampled_from([0, 1, 2, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1)), max_size=40
).map(lambda values: np.sort(np.array(values, dtype=np.uint64)))


def in_chunk(stored: Hashes, wanted: Hashes) -> Pairs:
    table = pa.table({HASH: pa.array(stored), EXP: np.ones(len(stored), dtype=np.int64)})
    chunk = Chunk(lambda: table, rows=len(stored), sort_key=EXP, low=1, high=1, labels={})
    return HashSearch(wanted).find_in(chunk)


@pytest.mark.parametrize(
    "search",
    [find, find_each, lambda stored, wanted: Directory.of(stored).find(stored, wanted), in_chunk],
    ids=["find", "find each", "directory", "in a chunk"],
)
@settings(deadline=None)
@given(stored=hashes, wanted=hashes)
def test_all_pairs_of_equal_hashes_are_found(
    stored: Hashes, wanted: Hashes, search: Callable[[Hashes, Hashes], Pairs]
):
    at, stored_at = search(stored, wanted)
    expected = [(i, j) for i, a in enumerate(wanted) for j, b in enumerate(stored) if a == b]
    assert sorted(zip(at.tolist(), stored_at.tolist(), strict=True)) == expected
