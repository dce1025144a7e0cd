"""Sums of facts: what is new comes through, and what is rare does not."""

from __future__ import annotations

import pytest

from panes.optimizer.fact_sums import FactSums, ratio_after


def value(sums: FactSums) -> float:
    return sums.sums[0] / sums.sums[1]


def after(*epochs: tuple[float, float]) -> FactSums:
    sums = None
    for number, (numerator, denominator) in enumerate(epochs):
        sums = ratio_after(sums, numerator, denominator, number)
    assert sums is not None
    return sums


def test_a_tenfold_change_comes_through_within_ten_epochs():
    known = after(*[(100, 1)] * 50, *[(1000, 1)] * 10)
    assert value(known) > 850
    assert (known.epochs, known.seen) == (60, 59)


def test_an_epoch_with_few_rows_counts_little():
    assert value(after(*[(500, 1000)] * 10, (1, 1))) == pytest.approx(0.5, rel=0.001)


def test_a_first_epoch_over_a_long_history_is_soon_forgotten():
    assert value(after((1_000_000, 10_000), *[(10, 1)] * 12)) < 25


def test_an_epoch_that_catches_up_does_not_count_for_all_that_were_missed():
    assert value(after(*[(10, 1)] * 10, (360_000, 3_600), *[(10, 1)] * 15)) < 35


def test_rows_that_come_before_time_moves_on_are_not_lost():
    assert value(after((30, 0), (0, 3))) == 10


def test_an_epoch_that_moves_the_clock_by_an_instant_is_none_of_its_own():
    known = after((1000, 10), (0, 1e-6))
    assert value(known) == pytest.approx(100)
    assert (known.epochs, known.seen) == (1, 1)
