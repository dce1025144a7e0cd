"""Each number of a band has a cell, which is among those that the band touches."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.cells import cells

LEAST, GREATEST = -(2**63), 2**63 - 1
NUMBERS = st.one_of(
    st.integers(-20, 20),
    st.integers(LEAST, LEAST + 20),
    st.integers(GREATEST - 20, GREATEST),
    st.integers(LEAST, GREATEST),
)


def lists(numbers: list[int | None], width: int, low: int = 0, high: int = 0) -> list[list[int]]:
    found: list[list[int]] = cells(pa.array(numbers, pa.int64()), width, low, high).to_pylist()
    return found


@given(NUMBERS, st.integers(-30, 30), st.integers(0, 30), st.data())
def test_what_lies_in_a_band_is_in_one_of_the_cells_that_it_touches(
    number: int, low: int, length: int, data: st.DataObject
) -> None:
    width, high = max(1, length), low + length
    (touched,) = lists([number], width, low, high)
    assert 1 <= len(touched) == len(set(touched)) <= 2
    first, last = max(LEAST, number + low), min(GREATEST, number + high)
    if first <= last:
        other = data.draw(st.integers(first, last))
        ((own,),) = lists([other], width)
        assert own in touched


def test_a_cell_is_the_quotient_rounded_down_and_null_has_none() -> None:
    assert lists([-11, -10, -1, 0, 9, 10, None], 10) == [[-2], [-1], [-1], [0], [0], [1], []]
    assert lists([-1, 4, 5, None], 10, -5, 5) == [[-1, 0], [-1, 0], [0, 1], []]


def test_the_ends_of_64_bits_are_cells_of_their_own_where_cells_are_single_numbers() -> None:
    assert lists([LEAST, GREATEST], 1) == [[LEAST], [GREATEST]]
    assert lists([LEAST, GREATEST], 1, 1, 1) == [[LEAST + 1], [GREATEST]]
    assert lists([LEAST, GREATEST], 1, -1, 0) == [[LEAST], [GREATEST - 1, GREATEST]]


def test_instants_and_parts_of_columns_have_cells() -> None:
    instants = [datetime(1970, 1, 1, second=second, tzinfo=UTC) for second in (1, 9, 12)]
    column = pa.array(instants, pa.timestamp("us", "UTC"))
    assert cells(column, 5_000_000, 0, 0).to_pylist() == [[0], [1], [2]]
    assert cells(column.slice(1), 5_000_000, 0, 0).to_pylist() == [[1], [2]]
    assert cells(pa.array([3, -3], pa.int32()), 2, 0, 0).to_pylist() == [[1], [-2]]
