"""Aggregates that need the values themselves, and the counts they are computed from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.aggregates.frequencies import Frequencies, held
from panes.aggregates.holistic import result
from panes.aggregates.linear import is_linear, is_of_distinct
from panes.plan.aggregates import AGGREGATES
from panes.plan.expressions import Aggregate, Column
from panes.plan.types import BIGINT, DOUBLE, INT, STRING, Type, list_of, struct_of

GROUPS = 3


def frequencies(type_: Type, *values: tuple[int, Any, int]) -> Frequencies:
    """Counts of values from (group, value, count), added one at a time."""
    table = Frequencies(type_.arrow)
    for group, value, count in values:
        column = pa.chunked_array([pa.array([value], type_.arrow)])
        hashes = np.array([group], np.uint64), np.array([7], np.uint64)
        table.add(*hashes, column, np.array([count]))
    return table


def results(table: Frequencies, function: str, type_: Type, *parameters: float) -> list[Any]:
    """The aggregate of each of the groups 0, 1, 2."""
    aggregate = Aggregate("x", function, Column(type_, "v"), type_, parameters=parameters)
    hashes = np.arange(GROUPS, dtype=np.uint64), np.full(GROUPS, 7, np.uint64)
    return list(result(aggregate, held(table.of(*hashes)), GROUPS).to_pylist())


def test_there_is_a_way_to_compute_every_aggregate() -> None:
    table = frequencies(DOUBLE, (0, 1.0, 1))
    for name in AGGREGATES:
        aggregate = Aggregate("x", name, Column(DOUBLE, "v"), DOUBLE)
        of_pairs = AGGREGATES[name].takes_two or AGGREGATES[name].needs_time
        if AGGREGATES[name].short_for or of_pairs or name == "string_agg":
            continue
        if AGGREGATES[name].needs_panes:
            continue  # their values have bounds
        if not is_linear(aggregate) and not is_of_distinct(aggregate):
            type_ = list_of(DOUBLE) if "top_k" in name or name == "array_agg" else DOUBLE
            parameters = {
                "top_k": (1,),
                "top_k_counts": (1,),
                "quantile": (0.5,),
                "quantile_disc": (0.5,),
            }.get(name.removeprefix("approx_"), ())
            if name == "top_k_counts":
                type_ = list_of(struct_of([("value", DOUBLE), ("n", BIGINT)]))
            counted = frequencies(INT, (0, 1, 1)) if name == "approx_count_distinct" else table
            assert len(results(counted, name, type_, *parameters)) == GROUPS


@pytest.mark.parametrize(
    ("function", "parameters", "expected"),
    [
        ("min", (), [-1.5, math.nan, None]),
        ("max", (), [4.0, math.nan, None]),
        ("median", (), [1.0, math.nan, None]),
        ("quantile", (0,), [-1.5, math.nan, None]),
        ("quantile", (1,), [4.0, math.nan, None]),
        ("quantile", (0.9,), [3.1, math.nan, None]),
    ],
)
def test_aggregate_of_each_group(
    function: str, parameters: tuple[float, ...], expected: list[float | None]
) -> None:
    # Group 0 holds -1.5, 1.0, 1.0 and 4.0; the 9.0 has left again. Group 2 holds nothing but NULL.
    values = [
        (0, 1.0, 2),
        (0, 4.0, 1),
        (0, 9.0, 1),
        (0, -1.5, 1),
        (0, 9.0, -1),
        (1, math.nan, 1),
        (2, None, 1),
    ]
    found = results(frequencies(DOUBLE, *values), function, DOUBLE, *parameters)
    assert found == pytest.approx(expected, nan_ok=True)


def test_most_frequent_come_first_and_of_equals_the_smaller() -> None:
    values = [(0, "b", 2), (0, "a", 2), (0, "c", 3), (1, "z", 1)]
    assert results(frequencies(STRING, *values), "top_k", list_of(STRING), 2) == [["c", "a"], ["z"], None]


def test_groups_that_share_the_first_hash_are_told_apart() -> None:
    table = Frequencies(pa.int64())
    first = np.array([5, 5], np.uint64)
    table.add(first, np.array([1, 2], np.uint64), pa.chunked_array([pa.array([10, 20])]), np.array([1, 1]))
    one = held(table.of(first[:1], np.array([2], np.uint64)))
    assert one["_value"].to_list() == [20]


def test_values_that_left_take_no_room_after_a_merge() -> None:
    table = frequencies(BIGINT, *((0, n, 1) for n in range(50)), *((0, n, -1) for n in range(50)))
    assert table.rows < 50


def test_restored_counts_are_the_same() -> None:
    table = frequencies(BIGINT, (0, 1, 1), (0, 2, 5), (1, 3, 1))
    restored = Frequencies(pa.int64())
    restored.restore(list(reversed(table.chunks)))
    assert results(restored, "max", BIGINT) == results(table, "max", BIGINT) == [2, 3, None]


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.sampled_from([-1, 1, 1])), max_size=80),
        max_size=8,
    ),
    st.booleans(),
)
def test_ends_are_those_of_all_values(batches: list[list[tuple[int, int, int]]], greatest: bool) -> None:
    # Groups 2 and 3 share the first hash.
    pairs = [(0, 7), (1, 7), (2, 7), (2, 8)]
    first, second = (np.array([pair[n] for pair in pairs], np.uint64) for n in (0, 1))
    table = Frequencies(pa.int64())
    for batch in batches:
        group = np.array([g for g, _, _ in batch], np.int64)
        values = pa.chunked_array([pa.array([v for _, v, _ in batch], pa.int64())])
        table.add(first[group], second[group], values, np.array([n for _, _, n in batch], np.int64))
    everything = held(table.of(first, second))
    expected = {
        group: (max if greatest else min)(everything.filter(pl.col("_group") == group)["_value"].to_list())
        for group in everything["_group"].unique()
    }
    found = table.ends(first, second, greatest=greatest)
    assert dict(zip(found["_group"].to_list(), found["_value"].to_list(), strict=True)) == expected


def test_least_value_is_found_without_reading_the_others() -> None:
    table = Frequencies(pa.int64())
    one = np.zeros(10_000, np.uint64)
    table.add(one, one, pa.chunked_array([pa.array(np.arange(10_000))]), np.ones(10_000, np.int64))
    before = table.touched
    assert table.ends(one[:1], one[:1], greatest=False)["_value"].to_list() == [0]
    assert table.touched - before <= 8


def with_amounts(amounts: int, *values: tuple[int, Any, int, *tuple[int, ...]]) -> Frequencies:
    """Counts and amounts of texts from (group, value, count, amounts…)."""
    table = Frequencies(pa.string(), amounts=amounts)
    for group, value, *numbers in values:
        column = pa.chunked_array([pa.array([value], pa.string())])
        hashes = np.array([group], np.uint64), np.array([7], np.uint64)
        table.add(*hashes, column, *(np.array([number]) for number in numbers))
    return table


def test_values_over_the_threshold_have_bounds() -> None:
    # Group 0 has two panes: a 5 and b 3 are on the first list, whose bound is 3; a 4 and c 4 on the second, of 4.
    # Group 1 has one pane with fewer values than its list takes.
    table = with_amounts(
        1,
        (0, "a", 5, 3),
        (0, "b", 3, 3),
        (0, None, 10, 3),
        (0, "a", 4, 4),
        (0, "c", 4, 4),
        (0, None, 2, 4),
        (1, "b", 2, 0),
    )
    fields = struct_of([("value", STRING), ("at_least", BIGINT), ("at_most", BIGINT)])
    assert results(table, "frequent", list_of(fields), 2) == [
        [{"value": "a", "at_least": 9, "at_most": 9}],
        [{"value": "b", "at_least": 2, "at_most": 2}],
        None,
    ]
    assert results(table, "frequent_threshold", BIGINT, 2) == [7, 0, 0]


def test_no_value_over_the_threshold_is_an_empty_list() -> None:
    table = with_amounts(1, (0, "a", 5, 5), (0, None, 3, 5))
    fields = struct_of([("value", STRING), ("at_least", BIGINT), ("at_most", BIGINT)])
    assert results(table, "frequent", list_of(fields), 1) == [[], None, None]


def test_what_left_leaves_no_amount() -> None:
    table = with_amounts(1, (0, "a", 5, 5), (0, None, 3, 5), (0, "a", -5, -5), (0, None, -3, -5))
    assert table.of(np.zeros(1, np.uint64), np.full(1, 7, np.uint64)).height == 0


def test_sums_of_weights_decide_even_where_they_are_greater_than_64_bits() -> None:
    least, most = -(2**63), 2**63 - 1

    def halves(number: int) -> tuple[int, int]:
        return number & (2**32 - 1), number >> 32

    weights = [
        ("a", most),
        ("a", most),
        ("b", most),
        ("b", 1),
        ("c", least),
        ("c", least),
        ("d", -1),
        ("e", -1),
    ]
    table = with_amounts(2, *((0, value, 1, *halves(weight)) for value, weight in weights))
    aggregate = Aggregate(
        "x", "top_k", Column(STRING, "v"), list_of(STRING), parameters=(4,), by=Column(BIGINT, "w")
    )
    held_now = held(table.of(np.zeros(1, np.uint64), np.full(1, 7, np.uint64)))
    assert result(aggregate, held_now, 1).to_pylist() == [["a", "b", "d", "e"]]
