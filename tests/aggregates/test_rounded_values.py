"""Values without their last bits: few different ones, in the same order, near to what they were."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.aggregates.rounded_values import rounded_values
from panes.plan.sketch_sizes import VALUE_ERROR


def rounded(*values: float) -> list[float]:
    return list(rounded_values(pa.array(values, pa.float64())).to_pylist())


@given(st.lists(st.floats(allow_nan=False), min_size=1))
@settings(max_examples=100)
def test_no_value_is_further_away_than_stated_and_none_overtakes_another(values: list[float]) -> None:
    values.sort()
    found = rounded(*values)
    assert found == sorted(found)
    for before, after in zip(values, found, strict=True):
        assert after == before or abs(after - before) <= VALUE_ERROR * abs(before) + 5e-324


def test_whole_numbers_up_to_256_stay_what_they_are() -> None:
    assert rounded(*range(-256, 257)) == [float(n) for n in range(-256, 257)]


def test_what_is_no_number_stays_and_the_greatest_ones_stay_finite() -> None:
    assert rounded(math.inf, -math.inf, 0.0, -0.0) == [math.inf, -math.inf, 0.0, 0.0]
    assert math.copysign(1, rounded(-0.0)[0]) == 1
    assert math.isnan(rounded(math.nan)[0])
    greatest = np.finfo(np.float64).max
    assert rounded(greatest, -greatest) == [greatest, -greatest]


def test_null_stays_null_and_no_values_are_none() -> None:
    assert rounded_values(pa.chunked_array([[None, 1.0]], pa.float64())).to_pylist() == [None, 1.0]
    assert rounded_values(pa.chunked_array([[]], pa.float64())).to_pylist() == []


@pytest.mark.parametrize("low", [1e-9, 1.0, 1e9])
def test_a_million_values_over_six_decades_become_a_few_thousand(low: float) -> None:
    values = low * 10 ** np.random.default_rng(5).uniform(0, 6, 1_000_000)
    assert len(np.unique(rounded_values(pa.array(values)))) < 3_000
