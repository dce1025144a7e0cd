"""Which answers the next epoch refreshes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from panes.schedule.member import Member
from panes.schedule.next_refreshes import Asked, NextRefreshes, RefreshedGroup
from panes.schedule.policies import POLICIES, Policy
from panes.schedule.task import Task
from panes.state.storage.epoch_log import NOTHING, EpochRecord, QueryProgress
from panes.state.storage.refreshed import Refreshed

SECOND = 1_000_000
ASKED = {
    1: Asked(10 * SECOND, 2 * SECOND),
    2: Asked(20 * SECOND, 4 * SECOND),
    3: Asked(30 * SECOND, 9 * SECOND),
}
GROUP = RefreshedGroup(7, SECOND, ASKED)


def after(
    clock: float, shown: dict[int, int], *, epoch_s: float = 1.0, beside_s: float | None = 0.5
) -> EpochRecord:
    """The record of an epoch of a second that ends at a clock, with the slides of some answers; a pane takes a
    hundredth of a second."""
    progress = QueryProgress(
        1,
        0,
        0,
        0,
        epoch=5,
        since=int((clock - epoch_s) * SECOND),
        clock=int(clock * SECOND),
        refreshed={query: Refreshed(slide * SECOND, 4) for query, slide in shown.items()},
        probe=(0.01, 0.01),
    )
    return replace(NOTHING, epoch=5, queries={7: progress}, beside_refreshes_s=beside_s)


def refreshed(before: EpochRecord, schedule: str = "edf", *, is_live: bool = True) -> list[list[int]]:
    found = NextRefreshes().after(before, [GROUP], schedule, is_live=is_live)
    return [[one.query for one in batch] for batch in found[7].batches]


def test_queries_without_an_answer_are_refreshed_at_once_and_together():
    assert refreshed(NOTHING) == [[1, 2, 3]]
    assert refreshed(after(100, {1: 100, 3: 100})) == [[2], [1], [3]]


def test_the_most_urgent_come_first_as_far_as_the_budget_goes():
    # After the next second the three are 3, 2 and 2 updates old: d is -1, 2 and 7. They take 0.1, 0.2 and 0.3 s.
    before = after(100, {1: 98, 2: 99, 3: 99})
    assert refreshed(before) == [[1], [2]]
    assert refreshed(replace(before, beside_refreshes_s=0.85)) == [[1], [2]]
    assert refreshed(replace(before, beside_refreshes_s=0.3)) == [[1], [2], [3]]


def test_nothing_is_refreshed_before_the_next_pane_is_expected():
    assert refreshed(after(100.2, {1: 100, 2: 100, 3: 100}, epoch_s=0.2)) == []
    assert refreshed(after(100.9, {1: 100, 2: 100, 3: 100}, epoch_s=0.2)) == [[1], [2]]


def test_a_run_that_may_take_its_time_refreshes_everything():
    assert refreshed(after(100, {1: 100, 2: 100, 3: 100}), is_live=False) == [[1], [2], [3]]


def test_queries_that_are_refreshed_together_are_one_batch():
    assert refreshed(after(100, {1: 98, 2: 99, 3: 99}), "aggressive") == [[1, 2, 3]]


def test_an_epoch_that_is_done_again_refreshes_the_same():
    before = after(100, {1: 98, 2: 97, 3: 90})
    one = NextRefreshes()
    for _ in range(3):
        first = one.after(before, [GROUP], "hybrid_late_pending", is_live=True)
    assert first == NextRefreshes().after(before, [GROUP], "hybrid_late_pending", is_live=True)


def test_tasks_are_found_anew_when_queries_come_and_not_when_costs_change_a_little(
    monkeypatch: pytest.MonkeyPatch,
):
    found: list[int] = []

    def noted(members: tuple[Member, ...]) -> list[Task]:
        found.append(len(members))
        return [Task.of(members)]

    monkeypatch.setitem(POLICIES, "noted", Policy(noted, lambda until, lowest: until == lowest))
    one, before = NextRefreshes(), after(100, {1: 98, 2: 97, 3: 90})

    def cost(pane: float, answer: float) -> EpochRecord:
        return replace(before, queries={7: replace(before.queries[7], probe=(pane, answer))})

    for record in (before, cost(0.03, 0.025), cost(0.03, 0.3), before, cost(0.02, 0.2)):
        one.after(record, [GROUP], "noted", is_live=True)
    assert found == [3, 3], "an answer costs as much as one pane, and as eight"
    one.after(before, [RefreshedGroup(7, SECOND, {1: ASKED[1]})], "noted", is_live=True)
    assert found == [3, 3, 1]


def test_a_plan_that_begins_has_no_stored_answers():
    found = NextRefreshes().after(
        after(100, {1: 98, 2: 97, 3: 90}), [replace(GROUP, begins=True)], "edf", is_live=True
    )
    assert [[one.query for one in batch] for batch in found[7].batches] == [[1, 2, 3]]
    assert found[7].shown == {}


def test_queries_that_were_dropped_are_shown_no_more():
    found = NextRefreshes().after(after(100, {1: 98, 2: 97, 8: 90}), [GROUP], "edf", is_live=True)
    assert found[7].shown == {1: 98 * SECOND, 2: 97 * SECOND}


def test_a_query_that_slides_more_often_than_the_synopsis_is_due_at_every_update():
    assert RefreshedGroup(7, 5 * SECOND, ASKED).period(1) == 1
