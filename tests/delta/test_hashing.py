"""Hashes of keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta.hashing import hash_pair, sort_order

PINNED = [(7830402614601228448, 4033854724648252909), (1878371591455070427, 13617124413616613165)]


def pairs(*columns: tuple[list[Any], pa.DataType]) -> list[tuple[int, int]]:
    arrays = [pa.array(values, type_) for values, type_ in columns]
    first, second = hash_pair(arrays, len(arrays[0]))
    return [(int(a), int(b)) for a, b in zip(first, second, strict=True)]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([0, 1, -1, 2**63 - 1, -(2**63), None], pa.int64()),
        ([0, 1, -1, None], pa.int32()),
        ([True, False, None], pa.bool_()),
        ([0.0, 1.0, -1.0, math.inf, math.nan, None], pa.float64()),
        (["", "a", "b", "ab", "ba", "\0", "a\0", "日本", None], pa.string()),
        ([0, 1, 2**40, None], pa.timestamp("us", tz="UTC")),
        ([0, 1, 2**64 - 1, None], pa.uint64()),
    ],
)
def test_different_values_have_different_hashes(values: list[Any], type_: pa.DataType) -> None:
    assert len(set(pairs((values, type_)))) == len(values)
    assert len(set(pairs((values, type_), ([7] * len(values), pa.int64())))) == len(values)


def test_equal_values_have_equal_hashes() -> None:
    zero, minus_zero = pairs(([0.0, -0.0], pa.float64()))
    assert zero == minus_zero
    assert len(set(pairs(([math.nan, -math.nan, float("nan")], pa.float64())))) == 1


def test_columns_do_not_run_into_each_other() -> None:
    a = ["a", "ab", "", "abc"], pa.string()
    b = ["bc", "c", "abc", ""], pa.string()
    assert len(set(pairs(a, b))) == 4


def test_hashes_are_those_that_are_in_files() -> None:
    assert pairs((["panes", None], pa.string()), ([1, 2], pa.int64())) == PINNED


def test_slice_has_the_hashes_of_its_rows() -> None:
    whole = pa.array(["x", "yy", None, "zzz"])
    first, _ = hash_pair([whole], 4)
    sliced, _ = hash_pair([whole.slice(1, 2)], 2)
    assert list(sliced) == list(first[1:3])


def test_no_columns_are_one_key() -> None:
    first, second = hash_pair([], 3)
    assert list(first) == list(second) == [0, 0, 0]


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)), max_size=50))
def test_order_sorts_and_keeps_equal_keys_in_place(keys: list[int]) -> None:
    order = sort_order(np.array(keys, np.uint64))
    assert [int(n) for n in order] == sorted(range(len(keys)), key=lambda n: keys[n])
