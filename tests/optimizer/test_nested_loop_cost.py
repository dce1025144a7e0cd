"""The examples of the thesis, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from statistics import fmean

import pytest

from panes.optimizer.nested_loop_cost import JoinedStream, accesses, joined_size, nested_loop_cost

TABLE_5_3 = (
    JoinedStream(10, 100, 500),
    JoinedStream(1, 100, 50),
    JoinedStream(1, 200, 40),
    JoinedStream(3, 100, 5),
)
# With a rate of 10 for the first: the printed 100 does not give the figures of the text.
TABLE_5_5 = (
    JoinedStream(10, 100, 40),
    JoinedStream(1, 100, 100),
    JoinedStream(1, 100, 8),
    JoinedStream(1, 100, 5),
)
TABLE_5_6 = (
    JoinedStream(11, 100, 200),
    JoinedStream(10, 100, 100),
    JoinedStream(1, 100, 65),
    JoinedStream(1, 100, 20),
)


def cost(streams: Sequence[JoinedStream], order: str) -> float:
    """The cost of an order that is written as in the thesis: `2134` is S2, S1, S3, S4."""
    return nested_loop_cost([streams[int(number) - 1] for number in order])


def all_costs(streams: Sequence[JoinedStream]) -> list[float]:
    return [nested_loop_cost(order) for order in permutations(streams)]


@pytest.mark.parametrize(
    ("streams", "size"),
    [
        ("12", 200),
        ("13", 400),
        ("14", 600),
        ("23", 400),
        ("24", 600),
        ("34", 1500),
        ("123", 800),
        ("124", 1200),
    ],
)
def test_sizes_of_intermediate_results_are_those_of_table_5_4(streams: str, size: float) -> None:
    assert joined_size([TABLE_5_3[int(number) - 1] for number in streams]) == pytest.approx(size)


def test_the_size_of_a_join_does_not_depend_on_the_order() -> None:
    sizes = [joined_size(order) for order in permutations(TABLE_5_6)]
    assert sizes == pytest.approx([sizes[0]] * len(sizes))


def test_each_stream_of_table_5_3_costs_what_the_thesis_says() -> None:
    assert [accesses(TABLE_5_3, place) for place in range(4)] == pytest.approx([3800, 3800, 2400, 6000])
    assert nested_loop_cost(TABLE_5_3) == pytest.approx(16000)
    assert max(all_costs(TABLE_5_3)) == pytest.approx(86850)


@pytest.mark.parametrize(("order", "expected"), [("2134", 16200), ("2341", 42600), ("1234", 21000)])
def test_orders_of_table_5_5_cost_what_the_thesis_says(order: str, expected: float) -> None:
    assert cost(TABLE_5_5, order) == pytest.approx(expected)


def test_the_best_and_the_worst_order_of_table_5_5() -> None:
    costs = all_costs(TABLE_5_5)
    assert min(costs) == pytest.approx(16200)
    assert max(costs) == pytest.approx(135150)


@pytest.mark.parametrize(
    ("order", "expected"),
    [("3142", 47977), ("3412", 49542), ("3124", 51954), ("1234", 68200), ("2134", 79000)],
)
def test_orders_of_table_5_6_cost_what_the_thesis_says(order: str, expected: float) -> None:
    assert cost(TABLE_5_6, order) == pytest.approx(expected, abs=0.5)


def test_the_best_order_and_the_mean_of_table_5_6() -> None:
    costs = all_costs(TABLE_5_6)
    assert min(costs) == pytest.approx(47977, abs=0.5)
    assert fmean(costs) == pytest.approx(63362, abs=0.5)
