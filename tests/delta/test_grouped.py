from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import BEGINNING, FOREVER
from panes.delta.grouped import (
    cummax_within,
    cumsum_within,
    last_of_instants,
    sort_by_group,
    sort_by_time,
    sort_groups_by_time,
    starts_of,
)

groups = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0, 1, 5, -7, FOREVER, BEGINNING])), max_size=20
)


@given(rows=groups)
def test_running_maxima_begin_anew_with_every_group(rows: list[tuple[int, int]]):
    rows.sort(key=lambda row: row[0])
    codes, values = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    expected = [max(v for c, v in rows[: i + 1] if c == code) for i, (code, _) in enumerate(rows)]
    assert cummax_within(values, starts_of(codes)).tolist() == expected


@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=20))
def test_running_sums_begin_anew_with_every_group(rows: list[tuple[int, int]]):
    rows.sort(key=lambda row: row[0])
    codes, values = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    expected = [sum(v for c, v in rows[: i + 1] if c == code) for i, (code, _) in enumerate(rows)]
    assert cumsum_within(values, starts_of(codes)).tolist() == expected


@given(rows=groups)
def test_rows_are_sorted_by_group_and_then_by_time(rows: list[tuple[int, int]]):
    codes, times = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    order = sort_by_group(codes, times)
    assert [rows[i] for i in order] == sorted(rows)
    for in_time in (np.arange(len(rows)), np.argsort(times, kind="stable")):
        # Rows in any order, and rows that came in the order of time.
        came = codes[in_time], times[in_time]
        by_group = np.argsort(came[0], kind="stable")
        order, ordered = sort_groups_by_time(by_group, came[0][by_group], came[1])
        assert list(zip(came[0][order], came[1][order], strict=True)) == sorted(rows)
        assert ordered.tolist() == came[1][order].tolist()


@given(rows=groups)
def test_rows_of_one_time_stay_in_their_order(rows: list[tuple[int, int]]):
    times = np.array([time for _, time in rows], dtype=np.int64)
    assert sort_by_time(times).tolist() == np.argsort(times, kind="stable").tolist()


def test_the_last_row_of_each_instant_is_found():
    codes, times = np.array([0, 0, 0, 1, 1]), np.array([1, 1, 2, 2, 2])
    assert last_of_instants(codes, times).tolist() == [1, 2, 4]
