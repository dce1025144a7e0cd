"""Which tasks are refreshed next, and together with which others."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from benchmarks.virtual_refreshes import VirtualRun
from panes.schedule.member import Member
from panes.schedule.policies import POLICIES
from tests.schedule.example import members

SMALL = 1e-6
"""Seconds per comparison: nothing is ever late."""


def slides_of(
    policy: str, some_members: list[Member], until: int, busy: tuple[tuple[float, float], ...] = ()
) -> dict[int, list[int]]:
    """The minutes at which each query is refreshed, when none is refreshed before it is due."""
    run = VirtualRun(POLICIES[policy], some_members, only_due=True, busy=busy).run(until)
    return {member.query: run.slides(member.query) for member in some_members}


def drawn(slides: dict[int, list[int]], until: int) -> list[str]:
    return [
        "".join("x" if minute in of_query else "." for minute in range(1, until + 1))
        for of_query in slides.values()
    ]


def test_figure_8_1_a_each_query_when_it_is_due():
    two = [Member(1, "G", 2, 9 * SMALL), Member(2, "G", 3, 13 * SMALL)]
    assert drawn(slides_of("conservative", two, 12), 12) == [
        # 3  6  9  12
        ".x.x.x.x.x.x",
        "..x..x..x..x",
    ]


def test_figure_8_1_b_the_second_query_whenever_the_first_is_due():
    two = [Member(1, "G", 2, 9 * SMALL), Member(2, "G", 3, 13 * SMALL)]
    for policy in ("aggressive", "hybrid"):
        assert drawn(slides_of(policy, two, 12), 12) == [".x.x.x.x.x.x", ".x.x.x.x.x.x"]


def test_figure_8_6_a_aggressive_refreshes_all_seven_every_two_minutes():
    found = slides_of("aggressive", members(per_comparison=SMALL), 15)
    assert drawn(found, 15) == [".x.x.x.x.x.x.x."] * 7


def test_figure_8_6_b_conservative_refreshes_each_sub_group_by_itself():
    found = slides_of("conservative", members(per_comparison=SMALL), 15)
    assert drawn(found, 15) == [
        *[".x.x.x.x.x.x.x."] * 3,
        *["..x..x..x..x..x"] * 2,
        *["....x....x....x"] * 2,
    ]


def test_figure_8_6_c_hybrid_refreshes_the_first_two_sub_groups_together():
    found = slides_of("hybrid", members(per_comparison=SMALL), 15)
    assert drawn(found, 15) == [*[".x.x.x.x.x.x.x."] * 5, *["....x....x....x"] * 2]


def test_figure_8_6_d_late_pending_takes_what_is_due_along_with_what_is_late():
    # From 3.5 to 5 the machine is busy: at 5 the first two sub-groups are late, and the third is due.
    seven = members(per_comparison=SMALL)
    found = slides_of("hybrid_late_pending", seven, 15, busy=((3.5, 5),))
    assert drawn(found, 15) == [*[".x..x.x.x.x.x.x"] * 5, *["....x....x....x"] * 2]
    run = VirtualRun(POLICIES["hybrid_late_pending"], seven, only_due=True, busy=((3.5, 5),)).run(5)
    assert [(batch.slide, batch.until) for batch in run.done] == [(2, (0,)), (5, (-1, 0))]
    # Hybrid alone refreshes them one after the other, and so does late sharing: the third one is not late.
    for policy in ("hybrid", "hybrid_late"):
        run = VirtualRun(POLICIES[policy], seven, only_due=True, busy=((3.5, 5),)).run(5)
        assert [(batch.slide, batch.until) for batch in run.done] == [(2, (0,)), (5, (-1,)), (5, (0,))]


def test_late_sharing_takes_all_late_tasks_of_the_group():
    ages = {1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 6: 6, 7: 6}  # d: -2 for the first five, and -1
    for policy, sizes in {"hybrid": [5, 2], "hybrid_late": [7], "hybrid_late_pending": [7]}.items():
        batches = POLICIES[policy].batches(POLICIES[policy].tasks(members()), ages)
        assert [sum(len(task.members) for task in batch) for batch in batches] == sizes


def test_edf_refreshes_one_query_at_a_time_the_most_urgent_first():
    two = [Member(1, "G", 3, 1), Member(2, "G", 2, 1), Member(3, "H", 2, 1, priority=2)]
    found = POLICIES["edf"].batches(POLICIES["edf"].tasks(two), {1: 1, 2: 1, 3: 1})
    assert [[member.query for task in batch for member in task.members] for batch in found] == [[3], [2], [1]]


def test_a_group_with_a_higher_priority_goes_first_among_equally_urgent_ones():
    for policy in POLICIES.values():
        two = [Member(1, "G", 2, 1), Member(2, "H", 2, 1, priority=5)]
        first = next(policy.batches(policy.tasks(two), {1: 2, 2: 2}))
        assert [member.query for task in first for member in task.members] == [2]


drawn_members = some.lists(
    some.tuples(some.sampled_from("GHI"), some.integers(1, 9), some.integers(1, 20), some.integers(0, 3)),
    min_size=1,
    max_size=8,
).map(
    lambda drawn: [
        Member(query, group, period, scan, finish)
        for query, (group, period, scan, finish) in enumerate(drawn)
    ]
)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=20)
@given(drawn_members, some.floats(0.1, 4))
def test_no_query_starves_in_overload(policy: str, some_members: list[Member], load: float):
    demand = sum(member.scan + member.finish for member in some_members)
    scaled = [
        Member(m.query, m.group, m.period, m.scan * load / demand, m.finish * load / demand)
        for m in some_members
    ]
    updates = 60
    run = VirtualRun(POLICIES[policy], scaled).run(updates)
    # All of them together take `load` seconds, so nobody has to wait much longer than that.
    longest = max(member.period for member in scaled) + 2 * (load + 1)
    for member in scaled:
        shown = [0, *run.slides(member.query), updates]
        assert max(after - before for before, after in pairwise(shown)) <= longest


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=20)
@given(drawn_members)
def test_everything_is_on_time_when_all_fit_between_two_updates(policy: str, some_members: list[Member]):
    demand = sum(member.scan + member.finish for member in some_members)
    scaled = [
        Member(m.query, m.group, m.period, m.scan * 0.99 / demand, m.finish * 0.99 / demand)
        for m in some_members
    ]
    run = VirtualRun(POLICIES[policy], scaled).run(40)
    assert run.latency == 0


@settings(max_examples=30)
@given(some.lists(some.integers(0, 12), min_size=1, max_size=8))
def test_edf_is_on_time_when_every_query_could_have_its_turn(more: list[int]):
    # One refresh per update, and each query may wait until all others have had one.
    some_members = [Member(query, query, len(more) + extra, 1.0) for query, extra in enumerate(more)]
    assert VirtualRun(POLICIES["edf"], some_members).run(100).latency == 0
