"""The greatest of any stretch, from one tree."""

from __future__ import annotations

import numpy as np
import pytest

from panes.synopses.ranked_tree import greatest_of, ranked_tree

FIGURE_12 = [6, 17, 3, 11, 25, 8, 2, 20, 15, 4, 19, 9, 22, 21, 7, 13, 1, 18, 5, 12, 24, 10]
"""The values of t1, t2, …: as in the figure, 20, 15, 19, 22 and 21 are the great ones in the window."""


def stretch(leaves: np.ndarray, begin: int, end: int) -> int:
    found = greatest_of(ranked_tree(leaves), leaves, np.array([begin]), np.array([end]), -1)
    return int(found[0])


def test_the_greatest_from_t8_to_t20_of_psoups_figure_12_is_22():
    assert stretch(np.array(FIGURE_12, np.int32), 7, 20) == 22


def test_without_the_values_that_another_query_does_not_choose_it_is_another_one():
    others = np.array([v if v not in (20, 15, 19, 22, 21) else -1 for v in FIGURE_12], np.int32)
    assert stretch(others, 7, 20) == 18


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 13, 16, 33, 100])
def test_every_stretch_of_every_length_is_that_of_a_scan(count: int):
    leaves = np.random.default_rng(count).integers(0, 1000, count).astype(np.int32)
    inner = ranked_tree(leaves)
    begins, ends = (a.ravel() for a in np.meshgrid(np.arange(count + 1), np.arange(count + 1)))
    found = greatest_of(inner, leaves, begins, ends, -7)
    scanned = [max(leaves[begin:end].tolist(), default=-7) for begin, end in zip(begins, ends, strict=True)]
    assert found.tolist() == scanned


def test_no_leaves_and_no_stretches_give_nothing():
    nothing = np.zeros(0, np.int64)
    assert ranked_tree(np.zeros(0, np.int32)).tolist() == []
    leaves = np.array([5], np.int32)
    assert greatest_of(ranked_tree(leaves), leaves, nothing, nothing, -1).tolist() == []
