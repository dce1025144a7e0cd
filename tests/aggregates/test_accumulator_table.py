"""The log-structured table of accumulators."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.aggregates.accumulator_table import AccumulatorTable
from panes.aggregates.steps import steps_of

# Few first hashes, so that keys collide in them all the time.
keys = st.tuples(st.integers(0, 3), st.integers(0, 3))
batches = st.lists(st.dictionaries(keys, st.integers(-2, 2), max_size=8), max_size=12)


def add(table: AccumulatorTable, batch: dict[tuple[int, int], int]) -> None:
    ordered = sorted(batch.items())
    first, second = (np.array([key[n] for key, _ in ordered], np.uint64) for n in (0, 1))
    table.add(first, second, {0: np.array([amount for _, amount in ordered], np.int64)})


def look_up(table: AccumulatorTable, wanted: list[tuple[int, int]]) -> list[int]:
    first, second = (np.array([key[n] for key in wanted], np.uint64) for n in (0, 1))
    found = table.look_up(first, second).get(0, np.zeros(len(wanted), np.int64))
    return [int(n) for n in found]


@settings(deadline=None, derandomize=True, database=None)
@given(batches)
def test_look_up_gives_the_sum_of_all_that_was_added(batches: list[dict[tuple[int, int], int]]) -> None:
    table, sums = AccumulatorTable(), Counter[tuple[int, int]]()
    everything = [(a, b) for a in range(5) for b in range(5)]
    for batch in batches:
        add(table, batch)
        sums.update(batch)
        assert look_up(table, everything) == [sums[key] for key in everything]


@settings(deadline=None, derandomize=True, database=None)
@given(batches)
def test_restored_table_is_the_same(batches: list[dict[tuple[int, int], int]]) -> None:
    table = AccumulatorTable()
    for batch in batches:
        add(table, batch)
    restored = AccumulatorTable()
    restored.restore(list(reversed(table.chunks)))
    everything = [(a, b) for a in range(5) for b in range(5)]
    assert look_up(restored, everything) == look_up(table, everything)


def test_rows_that_became_zero_vanish() -> None:
    table = AccumulatorTable()
    add(table, {(1, 0): 5, (2, 0): 3})
    add(table, {(1, 0): -5, (2, 0): -3})
    assert table.rows == 0


def test_small_addition_leaves_large_chunks_alone() -> None:
    table = AccumulatorTable()
    add(table, {(n, 0): 1 for n in range(1_000)})
    large = table.chunks[0]
    add(table, {(7, 0): 1})
    assert table.chunks[0] is large
    assert table.touched == 1


def test_there_are_few_chunks_however_many_additions() -> None:
    table = AccumulatorTable()
    for n in range(500):
        add(table, {(n, 0): 1})
    assert len(table.chunks) < 12


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(keys, st.integers(0, 5), st.integers(-2, 2)), max_size=30),
    st.booleans(),
)
def test_steps_add_up_the_events_of_each_group_and_instant(
    events: list[tuple[tuple[int, int], int, int]], keep_still: bool
) -> None:
    first, second = (np.array([key[n] for key, _, _ in events], np.uint64) for n in (0, 1))
    instants, amounts = (np.array([event[n] for event in events], np.int64) for n in (1, 2))
    steps = steps_of(first, second, instants, {0: amounts}, keep_still=keep_still)
    expected: dict[tuple[tuple[int, int], int], int] = {}
    for key, instant, amount in events:
        expected[key, instant] = expected.get((key, instant), 0) + amount
    wanted = [(key, amount) for key, amount in sorted(expected.items()) if amount or keep_still]
    found = zip(steps.first, steps.second, steps.instants, steps.changes[0], strict=True)
    assert [(((int(a), int(b)), int(at)), int(n)) for a, b, at, n in found] == wanted
    for step, event in enumerate(steps.event):
        assert (events[event][0], events[event][1]) == wanted[step][0]
