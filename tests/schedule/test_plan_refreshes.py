"""What is refreshed in one epoch."""

from __future__ import annotations

from panes.schedule.member import Member
from panes.schedule.plan_refreshes import plan_refreshes
from panes.schedule.policies import POLICIES

EDF = POLICIES["edf"]
THREE = [Member(1, "G", 1, 3.0), Member(2, "G", 2, 3.0), Member(3, "G", 4, 3.0)]


def refreshed(ages: dict[int, int], budget: float, policy: str = "edf") -> list[tuple[int, ...]]:
    chosen = POLICIES[policy]
    return [batch.queries for batch in plan_refreshes(chosen, chosen.tasks(THREE), ages, budget)]


def test_the_most_urgent_are_refreshed_as_far_as_the_budget_goes():
    assert refreshed({1: 1, 2: 1, 3: 1}, budget=6.0) == [(1,), (2,)]
    assert refreshed({1: 1, 2: 1, 3: 9}, budget=6.0) == [(3,), (1,)]


def test_one_batch_that_is_due_is_refreshed_whatever_it_costs():
    assert refreshed({1: 2, 2: 2, 3: 2}, budget=0.0) == [(1,)]


def test_what_is_not_due_waits_until_there_is_time():
    assert refreshed({1: 0, 2: 1, 3: 1}, budget=1.0) == []
    assert refreshed({1: 0, 2: 1, 3: 1}, budget=6.0) == [(2,), (3,)]


def test_answers_of_the_last_update_are_left_alone():
    assert refreshed({1: 0, 2: 0, 3: 0}, budget=100.0) == []


def test_members_that_are_refreshed_together_cost_one_scan():
    batches = plan_refreshes(
        POLICIES["aggressive"], POLICIES["aggressive"].tasks(THREE), {1: 1, 2: 1, 3: 1}, 3.0
    )
    assert [(batch.queries, batch.cost) for batch in batches] == [((1, 2, 3), 3.0)]
