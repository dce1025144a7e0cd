"""Sums that go up and down without rounding."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.aggregates.adders import Adder, DecimalSum, DoubleSum, IntegerSum
from panes.aggregates.base import Accumulators


def total(adder: Adder, values: list[Any], type_: pa.DataType) -> Accumulators:
    """The accumulators of one group that holds the values."""
    lifted = adder.lift(pa.chunked_array([pa.array(values, type_)]))
    return {number: np.array([a.sum()]) for number, a in lifted.items()}


def sum_of(values: list[float | None]) -> float:
    return float(DoubleSum().doubles(total(DoubleSum(), list(values), pa.float64()), 1)[0])


doubles = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(doubles, max_size=8))
def test_sum_of_doubles_is_the_exact_sum_but_for_the_last_digit(values: list[float]) -> None:
    exact = sum((Fraction(v) for v in values), Fraction(0))
    try:
        expected = float(exact)
    except OverflowError:
        expected = math.inf if exact > 0 else -math.inf
    assert sum_of(list(values)) == pytest.approx(expected, rel=4e-16, abs=0)


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(doubles, max_size=8), st.lists(doubles, min_size=1, max_size=8))
def test_what_is_added_and_taken_back_leaves_no_trace(kept: list[float], gone: list[float]) -> None:
    adder = DoubleSum()
    both = total(adder, [*kept, *gone], pa.float64())
    for number, a in total(adder, list(gone), pa.float64()).items():
        both[number] = both[number] - a
    assert adder.doubles(both, 1)[0] == adder.doubles(total(adder, list(kept), pa.float64()), 1)[0]


@pytest.mark.parametrize(
    "value",
    [
        0.0,
        -0.0,
        1.0,
        -1.5,
        5e-324,
        -5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        0.1,
        2**53 + 2.0,
    ],
)
def test_single_value_is_its_own_sum(value: float) -> None:
    assert sum_of([value]) == value


def test_sum_ignores_null() -> None:
    assert sum_of([1.0, None, 2.0]) == 3.0


def test_sum_beyond_the_doubles_is_infinite() -> None:
    assert sum_of([1.7e308, 1.7e308]) == math.inf
    assert sum_of([-1.7e308, -1.7e308]) == -math.inf


def test_infinite_values_of_both_signs_have_no_sum() -> None:
    assert sum_of([math.inf, 1.0]) == math.inf
    assert math.isnan(sum_of([math.inf, -math.inf]))
    assert math.isnan(sum_of([math.nan, 1.0]))


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8))
def test_sum_of_integers_is_exact_and_says_when_it_does_not_fit(values: list[int]) -> None:
    adder = IntegerSum()
    sums, fits = adder.integers(total(adder, list(values), pa.int64()), 1)
    assert bool(fits[0]) == (-(2**63) <= sum(values) < 2**63)
    if fits[0]:
        assert int(sums[0]) == sum(values)


CENTS = pa.decimal128(38, 2)
cents = st.integers(-(10**38) + 1, 10**38 - 1).map(lambda unscaled: Decimal(f"{unscaled}E-2"))


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(cents, max_size=6), st.lists(cents, max_size=6))
def test_sum_of_decimals_is_exact_and_says_when_it_has_too_many_digits(
    kept: list[Decimal], gone: list[Decimal]
) -> None:
    adder = DecimalSum(2)
    both = total(adder, [*kept, None, *gone], CENTS)
    for number, a in total(adder, list(gone), CENTS).items():
        both[number] = both[number] - a
    sums, fits = adder.decimals(both, 1)
    exact = sum(map(Fraction, kept), Fraction(0))
    assert fits[0] == (abs(exact) < 10**36)
    if fits[0]:
        assert Fraction(sums[0].as_py()) == exact
    assert adder.doubles(both, 1)[0] == pytest.approx(float(exact), rel=1e-15 if fits[0] else 1e-12)
