"""What refreshes cost, as measured."""

from __future__ import annotations

import pytest

from panes.schedule.probe_costs import ProbeCosts


def test_the_first_measurement_counts_as_it_is():
    found = ProbeCosts().after(panes=10, scan_s=0.02, answers=4, finish_s=0.04)
    assert (found.per_pane_s, found.per_answer_s) == pytest.approx((0.002, 0.01))


def test_later_ones_are_smoothed():
    found = ProbeCosts(0.001, 0.01, is_measured=True).after(panes=10, scan_s=0.02, answers=1, finish_s=0.01)
    assert (found.per_pane_s, found.per_answer_s) == pytest.approx((0.0012, 0.01))


def test_an_epoch_without_refreshes_changes_nothing():
    known = ProbeCosts(0.001, 0.01, is_measured=True)
    assert known.after(panes=0, scan_s=0.0, answers=0, finish_s=0.0) == known
