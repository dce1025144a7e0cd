"""Numbers that change with time, and the rows they are cut into."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import FOREVER
from panes.operators.tools import multiplicities
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


ROWS = st.lists(
    st.tuples(
        st.integers(0, 1),  # number
        st.integers(0, 3),  # value
        st.one_of(st.none(), st.integers(1, 5)),  # ts
        st.one_of(st.just(FOREVER), st.integers(6, 9)),  # exp
        st.integers(1, 3),  # weight
    ),
    max_size=12,
)


@pytest.mark.parametrize("largest", [1, 1 << 20])
@pytest.mark.parametrize("apart", [1, 1 << 59])
@given(ROWS)
def test_sums_are_those_of_the_rows_that_live(
    largest: int, apart: int, rows: list[tuple[int, int, int | None, int, int]]
) -> None:
    """Also where instants lie too far apart for a number of each, and where a digit might become too large."""
    levels = Multiplicities(2, values=4)
    for number, value, ts, exp, weight in rows:
        begin = None if ts is None else ints(ts * apart)
        end = exp if exp == FOREVER else exp * apart
        levels.add(number, ints(value), ints(end), ints(weight) if weight > 1 else None, begin)
    with patch.object(multiplicities, "_LARGEST", largest):
        codes, times, sums = levels.sums()
    times //= apart
    moves = {(v, t) for _, v, ts, exp, _ in rows for t in (ts, exp) if t not in (None, FOREVER)}
    assert list(zip(codes.tolist(), times.tolist(), strict=True)) == sorted(moves)
    for place, (code, time) in enumerate(sorted(moves)):
        for number in (0, 1):
            live = [w for n, v, ts, exp, w in rows if (n, v) == (number, code) and (ts or 0) <= time < exp]
            assert sums[number][place] == sum(live)


@given(st.dictionaries(st.tuples(st.integers(0, 2), st.integers(1, 6)), st.integers(-2, 2)))
def test_rows_add_up_to_the_number_they_are_cut_from(numbers: dict[tuple[int, int], int]) -> None:
    changes = sorted(numbers)
    code, time = (ints(*column) for column in (zip(*changes, strict=True) if changes else ((), ())))
    rows = list(
        zip(*(c.tolist() for c in rows_of(code, time, ints(*(numbers[c] for c in changes)))), strict=True)
    )
    assert all(ts < exp for _, ts, exp, _ in rows)
    for value in range(3):
        now = 0
        for instant in range(1, 7):
            now = numbers.get((value, instant), now)
            live = [w for v, ts, exp, w in rows if v == value and ts <= instant < exp]
            # No row is taken back in the same breath as another is given.
            assert sum(live) == now
            assert len(live) == abs(now)
