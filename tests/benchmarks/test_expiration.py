from __future__ import annotations

import numpy as np
import pytest

from benchmarks.expiration import WAYS, WINDOW_S, meeting, sharing_half
from benchmarks.expiration_report import BASE

RATE = 300


def stores(made) -> tuple[np.ndarray, np.ndarray]:
    """The stores of the tuples of two full windows."""
    at = np.arange(RATE * WINDOW_S)
    tables = made(np.random.default_rng(1), at)
    return tables["sales1"].column("store").to_numpy(), tables["sales2"].column("store").to_numpy()


@pytest.mark.parametrize("met", [1, 2, 5])
def test_a_tuple_that_joins_meets_so_many_and_there_are_as_many_results_as_tuples(met: int):
    left, right = stores(meeting(met, RATE))
    counts = dict(zip(*np.unique(right, return_counts=True), strict=True))
    found = np.array([counts.get(store, 0) for store in left])
    assert found.sum() == pytest.approx(len(left), rel=0.1)
    assert found[np.isin(left, np.arange(1, RATE * WINDOW_S // met**2 + 1))].mean() == pytest.approx(
        met, rel=0.1
    )


def test_so_many_of_all_pairs_join():
    left, right = stores(sharing_half(0.005))
    assert np.mean(left[:, None] == right[None, ::10]) == pytest.approx(0.005, rel=0.05)


def test_the_way_that_others_are_compared_with_is_measured():
    assert BASE in {way.name for way in WAYS}
