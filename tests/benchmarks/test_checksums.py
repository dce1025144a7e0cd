from __future__ import annotations

import numpy as np
import pytest

from benchmarks import checksums
from benchmarks.checksums import Checksum, of_answer, of_changes

LAST = 6


def by_hand(answers: dict[int, list[tuple[int, int, int]]]) -> str:
    """W1's checksum, row by row, as it is defined."""
    sums = [0, 0, 0, 0]
    for k, rows in answers.items():
        for src, count, total in rows:
            hash_ = (src + 1 + 5003 * k) * (count + total % 9973)
            sums = [a + b for a, b in zip(sums, (1, count, total, hash_), strict=True)]
    return "|".join(map(str, sums))


def columns(rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)]


ANSWERS = {
    1: [(7, 2, 30_000)],
    2: [(7, 2, 30_000), (0, 1, 40)],
    3: [(7, 3, 31_000), (0, 1, 40)],
    4: [(0, 1, 40)],
    5: [],
    6: [(7, 1, 9_973)],
}


def test_whole_answers_add_up_to_the_definition():
    checksum = Checksum()
    for k, rows in ANSWERS.items():
        if rows:
            checksum.add(*of_answer(checksums.groups(*columns(rows)), k))
    assert checksum.text == by_hand(ANSWERS)


def test_changes_add_up_to_the_same_as_whole_answers():
    changes = [
        (k, sign, *row)
        for k in range(1, LAST + 1)
        for sign, now, other in ((1, k, k - 1), (-1, k - 1, k))
        for row in ANSWERS.get(now, [])
        if row not in ANSWERS.get(other, [])
    ]
    k, weight, *rows = columns(changes)
    checksum = Checksum()
    checksum.add(*of_changes(checksums.groups(*rows), k, weight, LAST))
    assert checksum.text == by_hand(ANSWERS)


def test_changes_after_the_last_slide_count_nothing():
    one = np.ones(1, np.int64)
    assert of_changes(checksums.number(one * 5), one * (LAST + 1), one, LAST) == [0, 0]


@pytest.mark.parametrize("k", [1, 4, LAST])
def test_a_row_counts_in_every_slide_from_its_first(k: int):
    count = np.array([5], np.int64)
    slides = range(k, LAST + 1)
    expected = [
        sum(part) for part in zip(*(of_answer(checksums.number(count), i) for i in slides), strict=True)
    ]
    assert of_changes(checksums.number(count), np.array([k]), np.ones(1, np.int64), LAST) == expected


def test_ranks_tell_apart_what_counts_alone_would_not():
    src, count = np.array([3, 4]), np.array([10, 9])
    one = of_answer(checksums.ranked(np.array([1, 2]), src, count), 1)
    other = of_answer(checksums.ranked(np.array([2, 1]), src, count), 1)
    assert one != other


def test_queries_tell_apart_what_counts_alone_would_not():
    count = np.array([10, 20])
    one = of_answer(checksums.standing(np.array([0, 1]), count), 1)
    other = of_answer(checksums.standing(np.array([1, 0]), count), 1)
    assert one != other
