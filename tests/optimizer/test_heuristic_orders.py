"""The heuristic of the thesis, on its examples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from panes.optimizer.heuristic_orders import heuristic_orders
from panes.optimizer.nested_loop_cost import JoinedStream, joined_size, nested_loop_cost
from tests.optimizer.test_nested_loop_cost import TABLE_5_3, TABLE_5_5, TABLE_5_6


def orders(streams: Sequence[JoinedStream]) -> dict[str, float]:
    """The orders that the heuristic looks at, written as in the thesis, with what nested loops in them cost."""
    found = heuristic_orders(
        [stream.rate for stream in streams], lambda one, other: joined_size([streams[one], streams[other]])
    )
    named = {"".join(str(number + 1) for number in order): order for order in found}
    return {name: nested_loop_cost([streams[n] for n in order]) for name, order in named.items()}


@pytest.mark.parametrize(
    ("streams", "first", "best", "cost"),
    [
        (TABLE_5_3, "1234", "1234", 16000),
        (TABLE_5_5, "2341", "2134", 16200),
        (TABLE_5_6, "3412", "3142", 47977),
    ],
)
def test_the_choice_is_that_of_the_thesis(streams, first: str, best: str, cost: float):
    found = orders(streams)
    assert next(iter(found)) == first  # by selectivity alone
    assert min(found, key=found.__getitem__) == best
    assert found[best] == pytest.approx(cost, abs=0.5)


@pytest.mark.parametrize("streams", [TABLE_5_3, TABLE_5_5, TABLE_5_6])
def test_the_choice_is_the_best_of_all_orders(streams):
    every = [nested_loop_cost(order) for order in permutations(streams)]
    assert min(orders(streams).values()) == pytest.approx(min(every))


def test_two_fast_streams_are_moved_up_alone_and_together():
    assert {"3412", "3142", "3124"} <= set(orders(TABLE_5_6))


def test_no_fast_stream_is_moved_to_the_top():
    assert not any(order.startswith(("1", "2")) for order in orders(TABLE_5_6))


def test_streams_follow_that_are_tied_to_those_before():
    # 0 and 1 make the smallest result, 2 and 3 the next; but 0 and 2 must be joined before 3 comes.
    sizes = {(0, 1): 1, (2, 3): 2, (0, 2): 5, (1, 2): 9, (0, 3): 9, (1, 3): 9}
    assert heuristic_orders([1, 1, 1, 1], lambda *pair: sizes[pair]) == [(0, 1, 2, 3)]
