"""Readers take turns while epochs run, in the order in which they come; nobody waits without need."""

from __future__ import annotations

import pytest

from panes.answers.pace import Pace


class Time:
    """Seconds that pass when somebody sleeps, or when they are told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def pace(time: Time) -> Pace:
    pace = Pace(lambda: time.now, time.sleep)
    pace.is_kept = True
    return pace


def test_nobody_waits_while_no_epochs_run(time, pace):
    pace.is_kept = False
    for _ in range(5):
        pace.turn(1.0)
    assert time.slept == []


def test_a_reader_that_comes_now_and_then_never_waits(time, pace):
    for _ in range(5):
        pace.turn(1.0)
        time.now += 1.0
    assert time.slept == []


def test_a_reader_without_pause_waits_for_the_end_of_each_turn(time, pace):
    #  0   1   2   3
    #  |---|---|---|
    for _ in range(4):
        pace.turn(1.0)
    assert time.slept == [1.0, 1.0, 1.0]
    time.now += 0.25
    pace.turn(1.0)
    assert time.slept == [1.0, 1.0, 1.0, 0.75]


def test_readers_that_come_together_get_one_turn_after_the_other(time):
    slept: list[float] = []
    pace = Pace(lambda: time.now, slept.append)  # each in a thread of its own: time stands while one sleeps
    pace.is_kept = True
    for _ in range(4):
        pace.turn(0.5)
    assert slept == [0.5, 1.0, 1.5]


def test_after_a_rest_the_next_turn_comes_no_sooner(time, pace):
    pace.turn()
    time.now += 2.0
    pace.rest(2.0)
    pace.turn()
    assert (time.slept, time.now) == ([2.0], 4.0)
    pace.turn()
    assert time.slept == [2.0]


def test_a_few_turns_follow_each_other_at_once_after_a_while(time):
    pace = Pace(lambda: time.now, time.sleep, burst=3)
    pace.is_kept = True
    time.now = 100.0
    for _ in range(5):
        pace.turn(1.0)
    assert time.slept == [1.0, 1.0]
    time.now += 2.0  # room for two
    for _ in range(3):
        pace.turn(1.0)
    assert time.slept == [1.0, 1.0, 1.0]


def test_no_one_waits_longer_than_the_longest_wait_however_many_come(time):
    slept: list[float] = []
    pace = Pace(lambda: time.now, slept.append, longest_wait=1.0)
    pace.is_kept = True
    pace.rest(100.0)
    assert [pace.turn(0.5) for _ in range(50)] == [1.0] * 50
    assert slept == [1.0] * 50
