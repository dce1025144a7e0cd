"""What groups hold after each of their changes."""

import numpy as np
import polars as pl

from panes.aggregates.frequencies import COUNT, GROUP, VALUE
from panes.aggregates.replay import STEP, replayed


def frame(rows, names):
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")


def moments(base, changes, lengths):
    found = replayed(
        frame(base, [GROUP, VALUE, COUNT]), frame(changes, [GROUP, STEP, VALUE, COUNT]), np.array(lengths)
    )
    return found.rows()


def test_a_group_has_a_moment_before_its_first_step_and_one_after_each():
    assert moments([(0, 7, 2)], [(0, 0, 5, 1), (0, 1, 7, -2)], [2]) == [
        (0, 7, 2),
        (1, 5, 1),
        (1, 7, 2),
        (2, 5, 1),
    ]


def test_moments_of_groups_follow_each_other():
    base = [(1, 3, 1)]
    changes = [(0, 0, 9, 1), (1, 0, 3, 1), (1, 1, 4, 2)]
    assert moments(base, changes, [1, 2]) == [(1, 9, 1), (2, 3, 1), (3, 3, 2), (4, 3, 2), (4, 4, 2)]


def test_changes_of_one_step_are_added_up():
    assert moments([], [(0, 0, 5, 1), (0, 0, 5, -1), (0, 0, 6, 1)], [1]) == [(1, 6, 1)]


def test_nothing_is_held_when_nothing_happened():
    assert moments([], [], []) == []
