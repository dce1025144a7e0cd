"""Whether statistics have drifted so far that a plan gives way."""

from __future__ import annotations

import pytest

from panes.optimizer.drift import LEAST_GAIN, MARGIN, REST_EPOCHS, drift


@pytest.mark.parametrize(
    ("cost", "best", "since", "is_switched"),
    [
        (1.0, 0.999 - MARGIN, None, True),
        (1.0, 1.001 - MARGIN, None, False),
        (1.0, 2.0, None, False),
        (2 * LEAST_GAIN, LEAST_GAIN, None, True),
        (1.9 * LEAST_GAIN, 0.95 * LEAST_GAIN, None, False),
        (1.0, 0.1, REST_EPOCHS - 1, False),
        (1.0, 0.1, REST_EPOCHS, True),
        (0.0, 0.0, None, False),
    ],
)
def test_a_plan_gives_way_to_one_that_is_cheaper_by_a_margin(cost, best, since, is_switched):
    assert drift(cost, best, since).is_switched is is_switched


@pytest.mark.parametrize(
    ("cost", "best", "since", "reason"),
    [
        (0.4, 0.1, None, "75 % cheaper: 0.1 instead of 0.4 CPU seconds per second"),
        (0.4, 0.39, None, "no plan is cheaper by 20 %: 0.39 instead of 0.4 CPU seconds per second"),
        (0.001, 0.0001, None, "would save less than 0.002: 0.0001 instead of 0.001 CPU seconds per second"),
        (0.4, 0.1, 7, "its plan was changed 7 epochs ago: 0.1 instead of 0.4 CPU seconds per second"),
    ],
)
def test_a_decision_says_why(cost, best, since, reason):
    assert drift(cost, best, since).reason.endswith(reason)
