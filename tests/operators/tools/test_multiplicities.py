"""Numbers that change with time, and the rows they are cut into."""

from __future__ import annotations

import numpy as np

from panes.delta.delta import FOREVER
from panes.operators.tools.multiplicities import Multiplicities, rows_of


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_rows_add_up_to_the_number_at_each_instant() -> None:
    #  1   2   3   4   5   6   7
    #  ----------------)              was there before, until 5
    #          2x------------)        two of another number, from 3 to 7
    levels = Multiplicities(2, values=1)
    levels.add(0, ints(0), exp=ints(5), weight=ints(1))
    levels.add(1, ints(0), exp=ints(7), weight=ints(2), ts=ints(3))
    codes, times, (first, second) = levels.sums()
    assert codes.tolist() == [0, 0, 0]
    assert times.tolist() == [3, 5, 7]
    assert first.tolist() == [1, 0, 0]
    assert second.tolist() == [2, 2, 0]


def test_oldest_row_ends_first_and_what_never_falls_has_no_end() -> None:
    #  1   2   3   4
    #  1   2   1   1
    rows = rows_of(ints(0, 0, 0), ints(1, 2, 3), ints(1, 2, 1))
    assert list(zip(*(column.tolist() for column in rows), strict=True)) == [(0, 1, 3, 1), (0, 2, FOREVER, 1)]


def test_number_below_zero_becomes_rows_that_take_back() -> None:
    rows = rows_of(ints(0, 0, 1), ints(1, 4, 2), ints(-2, 1, 0))
    assert sorted(zip(*(column.tolist() for column in rows), strict=True)) == [
        (0, 1, 4, -1),
        (0, 1, 4, -1),
        (0, 4, FOREVER, 1),
    ]
