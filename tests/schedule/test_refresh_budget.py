"""How long the refreshes of an epoch may take."""

from __future__ import annotations

import pytest

from panes.schedule.refresh_budget import RefreshBudget


def after(*epochs: tuple[float, float]) -> RefreshBudget:
    budget = RefreshBudget()
    for seconds, refreshed_s in epochs:
        budget = budget.after(seconds, refreshed_s)
    return budget


def test_refreshes_have_what_epochs_leave_of_the_time_between_updates():
    assert RefreshBudget().seconds(10.0) == 10.0
    assert after((2.0, 0.5)).seconds(10.0) == pytest.approx(8.5)


def test_epochs_that_are_too_long_without_refreshes_get_half_as_long_again():
    assert after((3.0, 1.0)).seconds(1.0) == pytest.approx(1.0)


def test_one_slow_epoch_does_not_starve_refreshes():
    steady = after(*[(1.0, 0.5)] * 20)
    assert steady.seconds(2.0) == pytest.approx(1.5)
    assert steady.after(2.0, 0.5).seconds(2.0) == pytest.approx(1.2)


def test_a_long_first_epoch_is_forgotten_at_once():
    assert after((60.0, 1.0), (0.7, 0.1)).seconds(1.0) == pytest.approx(0.4)
    assert after((60.0, 1.0), (40.0, 1.0)).other_s == pytest.approx(0.7 * 59 + 0.3 * 39)


def test_the_budget_settles_where_an_epoch_is_as_long_as_the_time_between_updates():
    budget, refreshed_s = RefreshBudget(), 0.0
    for _ in range(30):
        budget = budget.after(0.6 + refreshed_s, refreshed_s)
        refreshed_s = budget.seconds(2.0)
    assert 0.6 + refreshed_s == pytest.approx(2.0)
