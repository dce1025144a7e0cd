"""The merge policy against what its module says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log as log_of

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.state.log import Log, MergePolicy

POLICIES = {
    "two": MergePolicy(),
    "four, none below eight": MergePolicy(fan_in=4, smallest=8),
    "eight": MergePolicy(fan_in=8, growth=4),
}
sizes = st.lists(st.one_of(st.integers(1, 3), st.integers(1, 200)), max_size=120)


@dataclass(frozen=True)
class Rows:
    """A part that knows of each row how large its part was whenever it was rewritten."""

    rewritten: tuple[tuple[int, ...], ...]
    low: int = 0
    high: int = 0

    @property
    def rows(self) -> int:
        return len(self.rewritten)


def rows(count: int, key: int = 0) -> Rows:
    return Rows(((),) * count, key, key)


def as_one(parts: Sequence[Rows]) -> Rows:
    return Rows(
        tuple((*row, part.rows) for part in parts for row in part.rewritten),
        min(part.low for part in parts),
        max(part.high for part in parts),
    )


def filled(policy: MergePolicy, counts: Sequence[int]) -> Log[Rows]:
    log: Log[Rows] = Log(policy)
    for count in counts:
        log.append(rows(count), as_one)
    return log


def lengths(log: Log[Rows]) -> list[int]:
    return [part.rows for part in log.parts]


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, derandomize=True, database=None)
@given(counts=sizes)
def test_the_number_of_parts_is_logarithmic(name: str, counts: list[int]) -> None:
    policy = POLICIES[name]
    log = filled(policy, counts)
    assert sum(lengths(log)) == sum(counts)
    sizes_of_parts = 1 + int(log_of(max(1, sum(counts) / policy.smallest), policy.growth) + 1e-9)
    assert len(log.parts) <= (policy.fan_in - 1) * sizes_of_parts


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, derandomize=True, database=None)
@given(counts=sizes)
def test_a_part_grows_by_a_factor_before_a_row_is_rewritten_twice(name: str, counts: list[int]) -> None:
    policy = POLICIES[name]
    for part in filled(policy, counts).parts:
        for row in set(part.rewritten):
            large = [size for size in (*row, part.rows) if size >= policy.growth * policy.smallest]
            assert all(
                after >= before * (1 + 1 / policy.growth)
                for before, after in zip(large, large[2:], strict=False)
            )


@pytest.mark.parametrize("name", POLICIES)
def test_rows_of_equal_appends_are_rewritten_once_for_every_factor_of_the_fan_in(name: str) -> None:
    policy, size = POLICIES[name], POLICIES[name].smallest
    (part,) = filled(policy, [size] * policy.fan_in**3).parts
    assert set(part.rewritten) == {(size, size * policy.fan_in, size * policy.fan_in**2)}


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
        log.append(rows(1), as_one)
    assert log.parts[0] is large


def test_parts_below_the_smallest_size_are_merged_however_little_they_grow() -> None:
    policy = MergePolicy(fan_in=4, smallest=100)
    assert lengths(filled(policy, [150, 1, 1, 1])) == [153]
    assert lengths(filled(policy, [200, 1, 1, 1])) == [200, 1, 1, 1]


def test_only_parts_of_one_partition_merge() -> None:
    log: Log[Rows] = Log(MergePolicy())
    for key in (1, 2, 1, 2, 2):
        log.append(rows(1, key), as_one, lambda part, key=key: part.high == key)
    assert [(part.low, part.high, part.rows) for part in log.parts] == [(1, 1, 2), (2, 2, 2), (2, 2, 1)]
    log.merge_all(as_one, lambda part: part.high == 2)
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
