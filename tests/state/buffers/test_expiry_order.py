from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import BEGINNING, EXP, FOREVER
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.expiry_order import ExpiryOrder, order_of

instants = st.integers(-5, 40) | st.just(FOREVER) | st.integers(0, 2**60)


@given(st.lists(instants, min_size=1, max_size=40), st.lists(instants, min_size=2, max_size=2))
def test_the_rows_that_leave_are_those_that_a_scan_finds(exp: list[int], bounds: list[int]):
    already, now = sorted(bounds)
    order, values = ExpiryOrder.of(np.array(exp)), np.array(exp)
    assert order.due(already, now).tolist() == np.flatnonzero((values > already) & (values <= now)).tolist()
    assert order.count_dead(now) == np.count_nonzero(values <= now)


@pytest.mark.parametrize(
    ("rows", "already", "now", "is_ordered"),
    [
        (10_000, 1, 2, True),
        (10_000, 1, 5_000, False),  # the chunk is over after the next span
        (10_000, BEGINNING, 2, False),  # nothing is known of spans
        (100, 1, 2, False),  # it is read faster than it is ordered
    ],
)
def test_a_chunk_is_ordered_when_many_spans_are_left_of_it(
    rows: int, already: int, now: int, is_ordered: bool
):
    chunk = Chunk.of(pa.table({EXP: np.arange(1, rows + 1)}))
    assert (order_of(chunk, already, now) is not None) == is_ordered


def test_a_chunk_that_may_be_merged_soon_is_read_whole_at_first():
    chunk = Chunk.of(pa.table({EXP: np.arange(1, 10_001)}))
    orders = [order_of(chunk, clock, clock + 1, first_spans=3) for clock in range(5)]
    assert [order is None for order in orders] == [True, True, True, False, False]


def test_a_chunk_is_ordered_once():
    chunk = Chunk.of(pa.table({EXP: np.arange(1, 10_001)}))
    assert order_of(chunk, 1, 2) is order_of(chunk, 2, 9_999)
