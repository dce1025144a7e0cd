"""Which rows are at some places of an order, compared with a sorted list."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from panes.operators.tools.places_in_order import PlacesInOrder


def shown(counts: list[int], low: int, high: int) -> Counter[int]:
    """The rows from one place to another of an order that has each row so often."""
    places = [row for row, count in enumerate(counts) for _ in range(count)]
    return Counter(places[low:high])


@pytest.mark.parametrize("seed", range(30))
def test_changes_lead_from_one_moment_to_the_next(seed: int) -> None:
    random = Random(seed)
    heights = [random.randint(1, 6) for _ in range(random.randint(1, 3))]
    partition = np.repeat(np.arange(len(heights)), heights)
    before = [random.randint(0, 2) for _ in partition]
    events: list[tuple[int, int, int]] = []
    held = list(before)
    for instant in range(1, 8):
        for _ in range(random.randint(0, 3)):
            row = random.randrange(len(partition))
            change = random.randint(-held[row], 2)
            held[row] += change
            events.append((row, instant, change))
    random.shuffle(events)
    low = random.randint(0, 2)
    high = low + random.randint(0, 3)
    rows, instants, counts = (np.array([event[part] for event in events], np.int64) for part in range(3))
    places = PlacesInOrder(partition, np.array(before), rows, instants, counts)
    found = list(zip(*(array.tolist() for array in places.changes(low, high)), strict=True))
    for number, height in enumerate(heights):
        first = sum(heights[:number])
        for now in range(8):
            mine = slice(first, first + height)
            then = list(before)
            for row, instant, count in events:
                then[row] += count * (instant <= now)
            total = shown(before[mine], low, high)
            for row, instant, count in found:
                if first <= row < first + height and instant <= now:
                    total[row - first] += count
            assert +total == shown(then[mine], low, high)
            assert min(total.values(), default=0) >= 0


def test_without_events_nothing_changes() -> None:
    none = np.zeros(0, np.int64)
    places = PlacesInOrder(np.array([0, 0, 1]), np.array([1, 2, 1]), none, none, none)
    assert places.cells == 3
    assert all(len(found) == 0 for found in places.changes(0, 2))
