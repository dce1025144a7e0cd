"""Hashes of keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta.hashing import _NULL, _SEED, buckets_of, hash_pair, hash_rows, in_buckets_of, sort_order

PINNED = [(465240511648122789, 3704480919248266223), (17840023625250376887, 1586862105254870239)]


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


def test_hashes_do_not_depend_on_how_a_column_is_stored() -> None:
    whole = pa.table({"s": ["a", "bc", None, "abcdefghijk"]})
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    assert hash_rows(parts, ["s"]).tolist() == hash_rows(whole, ["s"]).tolist()
    coded = pa.table({"s": whole["s"].combine_chunks().dictionary_encode()})
    assert hash_rows(coded, ["s"]).tolist() == hash_rows(whole, ["s"]).tolist()


def test_hashes_stay_what_they_were_when_state_was_written() -> None:
    table = pa.table({"n": [1, None], "s": ["panes", None]})
    assert hash_rows(table, ["n", "s"]).tolist() == HASHES


HASHES = [4168829377950766811, 14495798724567246468]


def test_null_is_not_taken_for_the_number_that_stands_for_it() -> None:
    stand_in = int((_NULL ^ _SEED).astype(np.int64))
    assert len(set(pairs(([stand_in, None], pa.int64())))) == 2
    assert len(set(pairs(([stand_in, None], pa.int64()), ([7, 7], pa.int64())))) == 2


def test_lists_have_hashes_as_well() -> None:
    lists = [[1.0, 2.0], [2.0, 1.0], [1.0], [], [None], None]
    assert len(set(pairs((lists, pa.list_(pa.float64()))))) == len(lists)
    assert len(set(pairs(([[math.nan, 0.0], [math.nan, -0.0]], pa.list_(pa.float64()))))) == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"n": [1, None, -5]},
        {"s": ["a", None, "b"]},
        {"n": [1, 2, 3], "s": ["a", "b", None]},
        {"f": [True, False, None]},
    ],
    ids=str,
)
def test_the_first_hash_of_a_key_tells_where_its_rows_are_routed(columns: dict[str, list[Any]]) -> None:
    table = pa.table(columns)
    first, _ = hash_pair(table.columns, table.num_rows)
    assert first.tolist() == hash_rows(table, table.column_names).tolist()


def test_a_hash_can_be_put_into_the_bucket_of_another() -> None:
    hashes, others = (np.array(values, np.uint64) for values in ([2**63 + 7, 1], [2**40 + 65_535, 5]))
    moved = in_buckets_of(hashes, others)
    assert buckets_of(moved).tolist() == buckets_of(others).tolist() == [65_535, 5]
    assert (moved >> np.uint64(16)).tolist() == (hashes >> np.uint64(16)).tolist()
