"""Setting and lifting drop boxes, on simulated machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

from panes.optimizer.shedding.controller import LEAST, Controller, EpochLoad, Sheddable
from panes.optimizer.shedding.posynomial import Box, Posynomial

BOX = ("q", "packets")
ALLOWED = 0.9


@dataclass
class Machine:
    """Runs epochs that take in what came while the last one ran; each takes `fixed` seconds, and `work` for each
    second of event time, which depends on the time and on what the box keeps."""

    work: Callable[[float, float], float]
    fixed: float = 0.3
    between: float = 0.1
    noise: float = 0.0
    pauses: float = 0.0
    """The share of epochs that take two seconds longer."""
    by_second: bool = False
    """Whether the source brings whole seconds only, as Spark's generator does."""
    at_once: float = 0.0
    """Event time that is there when the first epoch begins."""
    model: Posynomial = field(default_factory=lambda: Posynomial.share(BOX))
    windows: float = 0.0
    rate: Callable[[float], float] = lambda _: 1.0
    """Rows per second that come at a time."""
    seed: int = 1

    def __post_init__(self) -> None:
        self.controller = Controller()
        self.shares: Mapping[Box, float] = {BOX: 1.0}
        self.changes: list[tuple[float, float]] = []
        self.lags: list[tuple[float, float]] = []

    def run(self, until: float) -> Machine:
        random = np.random.default_rng(self.seed)
        now, newest, began = 1.0, 0.0, 0.0
        while now < until:
            there = now + self.at_once
            if self.by_second:
                there = np.floor(there)
                if there <= newest:
                    now = newest + 1.0
                    there = newest + 1.0
            event = there - newest
            seconds = self.fixed + sum(
                self.work(newest + part * event / 8, self.shares[BOX]) * event / 8 for part in range(8)
            )
            busy = (seconds - self.fixed) / 1.5
            seconds *= float(random.lognormal(0, self.noise)) if self.noise else 1.0
            seconds += 2.0 if random.random() < self.pauses else 0.0
            newest, passed, began, ended = there, now - began, now, now + seconds
            lag = ended + self.at_once - newest
            self.lags.append((ended, lag))
            kept = self.controller.after(
                EpochLoad(seconds, event, passed, lag, rows=self.rate(newest) * event, busy=busy),
                self.shares,
                ALLOWED,
                self.windows,
                lambda: Sheddable(self.model, {"q": Posynomial.share(BOX)}),
            )
            if kept is not None:
                self.shares = kept
                self.changes.append((ended, kept[BOX]))
            now = ended + self.between
        return self

    def longest_lag(self, since: float) -> float:
        return max(lag for at, lag in self.lags if at >= since)


def steady(load: float) -> Callable[[float, float], float]:
    return lambda _, share: load * share


def stepped(load: float, begin: float, end: float) -> Callable[[float, float], float]:
    return lambda at, share: (load if begin <= at < end else 0.2) * share


@pytest.mark.parametrize("by_second", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_load_that_fits_is_not_shed_in_spite_of_noise_and_pauses(by_second: bool, seed: int) -> None:
    machine = Machine(steady(0.35), noise=0.1, pauses=0.005, by_second=by_second, seed=seed).run(1000)
    assert machine.changes == []


@pytest.mark.parametrize("by_second", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_three_times_the_load_is_shed_at_once_and_lifted_when_it_is_over(
    by_second: bool, noise: float
) -> None:
    #      0        60                          360       420
    #      | fits   | three times what fits     | fits    | exact again
    machine = Machine(stepped(1.8, 60, 360), noise=noise, by_second=by_second).run(460)
    during = [kept for at, kept in machine.changes if at < 361]
    assert machine.changes[0][0] < 70, "set within seconds"
    assert len(during) <= 7, during
    assert machine.longest_lag(80) < 2.0
    assert 0.15 < during[-1] < 0.34, "0.33 would just fit"
    assert machine.shares == {BOX: 1.0}
    assert machine.changes[-1][0] < 420, "exact again within a minute"


def test_a_surge_of_rows_is_shed_after_one_epoch() -> None:
    def surge(at: float) -> float:
        return 1.0 if at < 60 else 3.0

    def work(at: float, share: float) -> float:
        return 0.2 * (surge(at) * share) ** 2

    square = Posynomial.share(BOX) * Posynomial.share(BOX)
    at_once = Machine(work, fixed=1.0, model=square, rate=surge).run(300)
    later = Machine(work, fixed=1.0, model=square).run(300)
    assert at_once.changes[0][0] < later.changes[0][0]
    assert at_once.longest_lag(0) < later.longest_lag(0)


@pytest.mark.parametrize("noise", [0.1, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_exact_again_where_every_epoch_takes_long_whatever_comes(noise: float, seed: int) -> None:
    def surge(at: float) -> float:
        return 6.0 if 60 <= at < 200 else 1.0

    square = Posynomial.share(BOX) * Posynomial.share(BOX)
    machine = Machine(
        lambda at, share: 0.02 * surge(at) + 0.05 * (surge(at) * share) ** 2,
        fixed=1.0,
        noise=noise,
        model=0.06 + square,
        rate=surge,
        windows=5.0,
        seed=seed,
    ).run(280)
    assert min(kept for _, kept in machine.changes) > 0.1, "no more than it takes"
    assert machine.shares == {BOX: 1.0}


def test_many_rows_that_are_no_load_are_not_shed() -> None:
    machine = Machine(steady(0.3), noise=0.1, rate=lambda at: 1.0 if at % 20 < 10 else 5.0).run(500)
    assert machine.changes == []


@pytest.mark.parametrize("by_second", [False, True])
def test_a_load_that_stays_too_high_changes_boxes_seldom(by_second: bool) -> None:
    machine = Machine(steady(1.8), noise=0.1, pauses=0.01, by_second=by_second).run(2000)
    assert len(machine.changes) < 2000 / 30, "less than one in half a minute"
    assert machine.longest_lag(80) < 5.0, "a pause takes two seconds"


@pytest.mark.parametrize("by_second", [False, True])
def test_what_the_model_does_not_know_of_is_found_by_setting_boxes_again(by_second: bool) -> None:
    machine = Machine(
        lambda at, share: 0.25 + 1.6 * share if at > 60 else 0.1 + 0.1 * share, by_second=by_second
    ).run(300)
    assert machine.changes[0][0] < 75
    assert machine.longest_lag(100) < 2.0
    assert len(machine.changes) <= 5


def test_joins_of_windows_in_range_keep_more_since_dropping_thins_out_both_sides() -> None:
    square = Posynomial.share(BOX) * Posynomial.share(BOX)
    machine = Machine(lambda at, share: 1.8 * share**2 if at > 60 else 0.1, model=square).run(300)
    assert 0.4 < machine.shares[BOX] < 0.58, "0.577 would just fit"
    assert machine.longest_lag(80) < 2.0


def test_a_backlog_that_is_taken_in_faster_than_event_time_passes_is_not_shed() -> None:
    assert Machine(steady(0.4), at_once=600).run(600).changes == []


def test_a_source_that_is_late_by_itself_or_plays_back_the_past_is_no_load() -> None:
    late, controller = 86_400.0, Controller()
    for _ in range(100):
        # Were it behind, less would be allowed while boxes are set.
        epoch = EpochLoad(0.8, 1.0, 1.0, late + 0.8)
        assert controller.after(epoch, {BOX: 0.5}, ALLOWED, 0.0, _unasked) is None


def test_event_time_that_goes_slower_than_wall_time_is_no_load() -> None:
    controller = Controller()
    for number in range(100):
        epoch = EpochLoad(0.4 + 0.01 * (number % 3), 0.15, 0.5, number)
        assert controller.after(epoch, {BOX: 1.0}, ALLOWED, 0.0, _unasked) is None


def test_a_slow_cluster_with_little_to_do_is_not_overloaded() -> None:
    assert Machine(steady(0.1), fixed=1.5, noise=0.05).run(1000).changes == []


def test_boxes_keep_the_least_and_say_so_when_no_box_can_make_it_fit() -> None:
    share = Posynomial.share(BOX)
    machine = Machine(lambda _, kept: 1.5 + 0.1 * kept, model=1.5 + 0.1 * share).run(200)
    assert machine.shares == {BOX: LEAST}
    assert len(machine.changes) == 1
    assert "what no drop box can change takes more" in machine.controller.problem


def test_a_problem_is_over_when_the_load_is() -> None:
    share = Posynomial.share(BOX)
    machine = Machine(
        lambda at, kept: 1.5 + 0.1 * kept if at < 60 else 0.1 * kept, model=1.5 + 0.1 * share
    ).run(400)
    assert machine.shares == {BOX: 1.0}
    assert machine.controller.problem == ""


def test_lifting_waits_until_windows_have_filled() -> None:
    machine = Machine(stepped(1.8, 60, 100), windows=30.0).run(300)
    lifts = [at for at, _ in machine.changes if at > 100]
    assert all(later - earlier >= 30 for earlier, later in pairwise(lifts))
    assert machine.shares == {BOX: 1.0}


@pytest.mark.parametrize(("load", "most"), [(0.4, 4), (0.0, 4)])
def test_a_share_grows_at_most_to_the_double_when_it_is_lifted_or_fourfold_where_the_load_is_low(
    load: float, most: float
) -> None:
    machine = Machine(lambda at, share: (9.0 if 60 <= at < 100 else load) * share).run(400)
    kept = [share for at, share in machine.changes if at > 100]
    assert kept[0] < 0.25
    assert kept[-1] == 1
    steps = [later / earlier for earlier, later in pairwise(kept)]
    assert all(step <= most + 0.01 for step in steps)
    assert any(step > most - 0.2 for step in steps), "what it may"


def test_the_query_with_the_higher_priority_keeps_more() -> None:
    controller = Controller()
    boxes = {"low": ("low", "packets"), "high": ("high", "packets")}
    cost = Posynomial.sum(map(Posynomial.share, boxes.values()))
    outputs = {query: Posynomial.share(box) for query, box in boxes.items()}
    found = None
    while found is None:
        found = controller.after(
            EpochLoad(3.0, 1.0, 1.0, 3.0),
            dict.fromkeys(boxes.values(), 1.0),
            ALLOWED,
            0.0,
            lambda: Sheddable(cost, outputs, {"low": 1.0, "high": 3.0}),
        )
    assert found[boxes["high"]] == pytest.approx(3 * found[boxes["low"]], rel=1e-3)


def test_nothing_is_decided_while_processes_warm_up_or_without_boxes() -> None:
    controller = Controller()
    for _ in range(3):
        assert controller.after(EpochLoad(9.0, 1.0, 1.0), {BOX: 1.0}, ALLOWED, 0.0, _unasked) is None
    for _ in range(10):
        assert controller.after(EpochLoad(9.0, 1.0, 1.0), {}, ALLOWED, 0.0, _unasked) is None


def _unasked() -> Sheddable:
    raise AssertionError("nothing is to be changed")
