"""The merge policy against what its module says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.state.log import Log, MergePolicy

POLICIES = {
    "two": MergePolicy(),
    "four, none below eight": MergePolicy(fan_in=4, smallest=8),
    "eight": MergePolicy(fan_in=8),
}
sizes = st.lists(st.one_of(st.integers(1, 3), st.integers(1, 200)), max_size=120)


@dataclass(frozen=True)
class Rows:
    """A part that knows of each row how often it was rewritten, and on which levels."""

    rewritten: tuple[tuple[int, ...], ...]
    low: int = 0
    high: int = 0

    @property
    def rows(self) -> int:
        return len(self.rewritten)


def rows(count: int, key: int = 0) -> Rows:
    return Rows(((),) * count, key, key)


def rewriting(policy: MergePolicy, parts: Sequence[Rows]) -> Rows:
    """The parts as one, in which every row remembers the level that it was rewritten on."""
    return Rows(
        tuple((*row, policy.level(part.rows)) for part in parts for row in part.rewritten),
        min(part.low for part in parts),
        max(part.high for part in parts),
    )


def filled(policy: MergePolicy, counts: Sequence[int]) -> Log[Rows]:
    log: Log[Rows] = Log(policy)
    for count in counts:
        log.append(rows(count), lambda parts: rewriting(policy, parts))
    return log


def lengths(log: Log[Rows]) -> list[int]:
    return [part.rows for part in log.parts]


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, derandomize=True, database=None)
@given(counts=sizes)
def test_parts_are_fewer_than_the_fan_in_on_each_level(name: str, counts: list[int]) -> None:
    policy = POLICIES[name]
    log = filled(policy, counts)
    assert sum(lengths(log)) == sum(counts)
    assert len(log.parts) <= (policy.fan_in - 1) * (1 + policy.level(sum(counts)))


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, derandomize=True, database=None)
@given(counts=sizes)
def test_a_row_is_rewritten_at_most_as_often_as_the_fan_in_on_each_level(
    name: str, counts: list[int]
) -> None:
    policy = POLICIES[name]
    for part in filled(policy, counts).parts:
        for row in part.rewritten:
            above = [level for level in row if level]
            assert above == sorted(above)
            assert all(above.count(level) <= policy.fan_in for level in above)


@pytest.mark.parametrize("name", POLICIES)
def test_rows_of_equal_appends_are_rewritten_once_on_each_level(name: str) -> None:
    policy = POLICIES[name]
    log = filled(policy, [policy.smallest] * policy.fan_in**3)
    (part,) = log.parts
    assert set(part.rewritten) == {(0, 1, 2)}


@settings(deadline=None, derandomize=True, database=None)
@given(counts=sizes)
def test_a_log_that_is_played_through_again_comes_to_rest_with_the_same_parts(counts: list[int]) -> None:
    for policy in POLICIES.values():
        once = lengths(filled(policy, counts))
        assert lengths(filled(policy, once)) == once


@settings(deadline=None, derandomize=True, database=None)
@given(counts=sizes, most=st.integers(1, 300))
def test_no_merge_exceeds_the_most_rows(counts: list[int], most: int) -> None:
    log = filled(MergePolicy(most=most), counts)
    assert all(part.rows <= most or not any(part.rewritten) for part in log.parts)


def test_no_merge_exceeds_the_share_once_it_is_more_than_the_most_rows() -> None:
    policy = MergePolicy(fan_in=4, most=16, share=0.5)
    assert lengths(filled(policy, [4] * 4)) == [16]
    assert lengths(filled(policy, [4] * 16)) == [16] * 4  # 64 rows would be all of the log
    assert lengths(filled(policy, [4] * 32)) == [16] * 4 + [64]


def test_small_appends_leave_large_parts_alone() -> None:
    log = filled(MergePolicy(), [1000])
    (large,) = log.parts
    for _ in range(400):
        log.append(rows(1), lambda parts: rewriting(MergePolicy(), parts))
    assert log.parts[0] is large


def test_parts_below_the_smallest_size_are_of_one_level() -> None:
    policy = MergePolicy(fan_in=4, smallest=1024)
    assert [policy.level(size) for size in (1, 4095, 4096, 16_383, 16_384)] == [0, 0, 1, 1, 2]


def test_only_parts_of_one_partition_merge() -> None:
    log: Log[Rows] = Log(MergePolicy())
    for key in (1, 2, 1, 2, 2):
        log.append(
            rows(1, key),
            lambda parts: rewriting(MergePolicy(), parts),
            lambda part, key=key: part.high == key,
        )
    assert [(part.low, part.high, part.rows) for part in log.parts] == [(1, 1, 2), (2, 2, 2), (2, 2, 1)]
    log.merge_all(lambda parts: rewriting(MergePolicy(), parts), lambda part: part.high == 2)
    assert [(part.low, part.high, part.rows) for part in log.parts] == [(1, 1, 2), (2, 2, 3)]


def test_parts_of_which_nothing_is_left_are_gone() -> None:
    log: Log[Rows] = Log(MergePolicy())
    log.append(rows(4), lambda _: None)
    log.append(rows(4), lambda _: None)
    assert log.parts == []


def test_parts_leave_when_their_last_sort_key_has_passed() -> None:
    log: Log[Rows] = Log(MergePolicy(), [Rows(((),), 0, 5), Rows(((),), 3, 9), Rows(((),), 1, 4)])
    log.drop_through(5)
    assert [part.high for part in log.parts] == [9]
