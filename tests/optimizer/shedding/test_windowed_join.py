from __future__ import annotations

from itertools import permutations

import pytest

from benchmarks.paper_joins import EXAMPLE_SELECTIVITIES, RATES, joined, random_joins
from panes.optimizer.shedding.posynomial import Posynomial
from panes.optimizer.shedding.windowed_join import WindowedStream

A, B, C = (Posynomial.share(box) for box in "ABC")


def test_dropping_from_a_rows_window_lowers_its_rate_only():
    stream = WindowedStream("A", 10, rows=5)
    assert (stream.kept_rate, stream.kept_size) == (10 * A, Posynomial.constant(5))


def test_dropping_from_a_range_window_lowers_its_rate_and_its_size():
    stream = WindowedStream("A", 10, seconds=0.5)
    assert (stream.kept_rate, stream.kept_size) == (10 * A, 5 * A)


@pytest.mark.parametrize("window", [{}, {"rows": 5, "seconds": 1}])
def test_a_window_is_in_rows_or_in_seconds(window: dict[str, float]):
    with pytest.raises(ValueError, match="in rows or in seconds"):
        WindowedStream("A", 10, **window)


def test_results_of_example_1_with_rows_windows():
    join = joined(RATES, dict.fromkeys(RATES, 10), EXAMPLE_SELECTIVITIES, is_range=False)
    assert join.rate("AB") == 50 * A + 350 * B
    assert join.rate("BC") == 140 * B + 40 * C
    assert join.rate("AC") == 100 * A + 200 * C
    assert join.output == 100 * A + 700 * B + 200 * C


def test_results_of_example_1_with_range_windows():
    join = joined(RATES, dict.fromkeys(RATES, 10), EXAMPLE_SELECTIVITIES, is_range=True)
    assert join.rate("AB").at({}) == pytest.approx(400)
    assert join.output.boxes == ("A", "B", "C")
    assert join.output.is_monomial
    assert join.output.at({}) == pytest.approx(1000)


@pytest.mark.parametrize("is_range", [False, True])
def test_the_output_is_that_of_binary_joins_in_any_order(is_range: bool):
    """Equations 3 and 4, joined stream by stream."""
    (join,) = random_joins(1, is_range=is_range)
    kept = dict(zip("ABCDE", (0.9, 0.3, 1.0, 0.5, 0.7), strict=True))
    rates = {stream.box: stream.kept_rate.at(kept) for stream in join.streams}
    sizes = {stream.box: stream.kept_size.at(kept) for stream in join.streams}
    for order in permutations("ABCDE"):
        rate, size = rates[order[0]], sizes[order[0]]
        for place, box in enumerate(order[1:], 1):
            f = 1.0
            for other in order[:place]:
                f *= join.selectivities.get(frozenset((other, box)), 1.0)
            rate, size = f * (size * rates[box] + sizes[box] * rate), f * size * sizes[box]
        assert join.output.at(kept) == pytest.approx(rate)
