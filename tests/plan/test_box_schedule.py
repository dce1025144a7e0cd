"""Shares of drop boxes over event time."""

import json

import numpy as np
import pytest

from panes.delta.delta import BEGINNING
from panes.plan.box_schedule import BoxSchedule


def shares(schedule, *ts):
    return schedule.shares(np.array(ts)).tolist()


def test_everything_is_kept_before_the_first_step():
    assert shares(BoxSchedule(), 1, 100) == [1, 1]
    assert shares(BoxSchedule(((10, 0.5),)), 9, 10, 11) == [1, 0.5, 0.5]


def test_a_step_that_no_row_has_met_is_replaced():
    assert BoxSchedule().changed(10, 0.5).changed(10, 0.3) == BoxSchedule(((10, 0.3),))
    assert BoxSchedule().changed(10, 0.5).changed(10, 1.0) == BoxSchedule()
    assert BoxSchedule().changed(10, 0.5).changed(20, 0.5) == BoxSchedule(((10, 0.5),))


def test_steps_that_nothing_reaches_are_left_out():
    schedule = BoxSchedule(((10, 0.5), (20, 0.3), (30, 1.0)))
    assert schedule.pruned(9) == schedule
    assert schedule.pruned(25) == BoxSchedule(((BEGINNING, 0.3), (30, 1.0)))
    assert schedule.pruned(30) == BoxSchedule()
    for oldest in (0, 10, 15, 20, 29, 30, 31):
        later = range(oldest, 40)
        assert shares(schedule.pruned(oldest), *later) == shares(schedule, *later)


def test_the_least_share_is_that_of_a_span_with_both_ends():
    schedule = BoxSchedule(((10, 0.5), (20, 0.3), (30, 1.0)))
    assert schedule.least(0, 9) == 1
    assert schedule.least(0, 10) == 0.5
    assert schedule.least(0, 20) == 0.3
    assert schedule.least(29, 40) == 0.3
    assert schedule.least(30, 40) == 1


def test_a_schedule_comes_back_from_json():
    schedule = BoxSchedule(((BEGINNING, 0.1), (10**15 + 1, 2 / 3)))
    assert BoxSchedule.of(json.loads(json.dumps(schedule.as_list()))) == schedule


@pytest.mark.parametrize("steps", [((1, 0.0),), ((1, 1.5),), ((2, 0.5), (1, 0.6)), ((1, 0.5), (1, 0.6))])
def test_what_is_no_schedule_is_refused(steps):
    with pytest.raises(ValueError, match="drop box"):
        BoxSchedule(steps)
