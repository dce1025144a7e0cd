"""Theorem 7.4: no order of reads aborts less often than that by time-to-update."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import pytest

from tests.reference.window_reader import GivenReader, Reader, Ring, SequentialReader, TtuReader

Make = Callable[[Ring], Reader]


def is_aborted(make: Make, n: int, updates_before: tuple[int, ...]) -> bool:
    """Whether a query aborts when before each of its reads, and before its commit, some updates come."""
    ring = Ring(n)
    reader, j = make(ring), n
    for updates in updates_before:
        for _ in range(updates):
            ring.update(j)
            reader.updated(j)
            j += 1
        if reader.is_aborted:
            return True
        if not reader.is_done:
            reader.read()
    return False


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_an_order_without_an_abort_exists_only_where_time_to_update_has_none(n: int) -> None:
    for updates in product(range(3 if n < 5 else 2), repeat=n + 1):
        ttu = is_aborted(TtuReader, n, updates)
        others = [
            is_aborted(lambda ring, o=order: GivenReader(ring, o), n, updates)
            for order in permutations(range(n))
        ]
        assert ttu == all(others), updates


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_same_of_queries_over_shorter_windows(n: int) -> None:
    for length in range(1, n):
        for updates in product(range(2), repeat=length + 1):
            ttu = is_aborted(lambda ring, length=length: TtuReader(ring, length), n, updates)
            others = [
                is_aborted(lambda ring, o=order, length=length: GivenReader(ring, o, length), n, updates)
                for order in permutations(range(n))
            ]
            assert ttu == all(others), (length, updates)


def test_the_order_of_history_e() -> None:
    ring = Ring(5)
    reader, order = TtuReader(ring), []
    for updates in ((), (5,), (), (), (6,)):
        for j in updates:
            ring.update(j)
            reader.updated(j)
        order.append(reader.read())
    assert (order, reader.is_aborted) == ([4, 0, 3, 2, 1], False)


def test_what_is_left_is_in_the_order_of_time_to_update() -> None:
    ring = Ring(5)
    reader = TtuReader(ring, 4)
    for j in range(5, 15):
        assert [ring.ttu[place] for place in reader.left] == [2, 3, 4, 5]
        ring.update(j)
        reader.updated(j)
    assert not reader.is_aborted


def test_the_order_of_the_ring_aborts_where_time_to_update_does_not() -> None:
    assert is_aborted(SequentialReader, 5, (0, 1, 0, 0, 0))
    assert not is_aborted(TtuReader, 5, (0, 1, 0, 0, 0))
