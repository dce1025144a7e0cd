"""Products of doubles, and sums that are not rounded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from panes.aggregates.products import product, sums_are_exact

ODD = [0.1, 1 / 3, -2.5, 1e150, -1e-100, 2.0**52 + 1, 1.0, 0.0, 1.7e308, 5e-11]


def test_product_and_what_is_lost_are_the_exact_product() -> None:
    left, right = (np.array(column) for column in zip(*[(a, b) for a in ODD for b in ODD], strict=True))
    high, low = product(left, right)
    for a, b, rounded, rest in zip(left, right, high, low, strict=True):
        if np.isfinite(rounded):
            assert Fraction(rounded) + Fraction(rest) == Fraction(a) * Fraction(b)
        else:
            assert rest == 0


@pytest.mark.parametrize(
    ("values", "rows", "exact"),
    [
        ([], 5, True),
        ([0.0, 1.0, -3.0], 1000, True),
        ([0.5, 0.25, 1e6], 1000, True),
        ([0.1, 0.2], 2, False),
        ([1.0, 2.0**60], 2, False),
        ([2.0**52], 1, True),
        ([2.0**52 + 1], 4, False),
        ([1.0, float("nan"), float("inf")], 8, True),
    ],
)
def test_sums_of_multiples_of_one_power_of_two_are_exact(values: list[float], rows: int, exact: bool) -> None:
    assert sums_are_exact(np.array(values), rows) is exact
