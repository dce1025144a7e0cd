from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta import keys
from panes.delta.hashing import hash_rows
from panes.delta.keys import equal_rows, group_rows, has_null

COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "integers": (pa.int64(), st.integers(-3, 3)),
    "small integers": (pa.int32(), st.integers(-3, 3)),
    "floats": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf])),
    "strings": (pa.string(), st.sampled_from(["", "a", "b", "ab", "abcdefgh", "abcdefghi", "äöü", "x" * 40])),
    "booleans": (pa.bool_(), st.booleans()),
    "dates": (pa.date32(), st.sampled_from([dt.date(2026, 1, 1), dt.date(1969, 12, 31)])),
    "lists": (pa.list_(pa.int64()), st.lists(st.integers(1, 2), max_size=3)),
}


def normal(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return tuple(value) if isinstance(value, list) else value


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True))
    rows = draw(st.integers(0, 12))
    columns = {}
    for name in names:
        kind, values = COLUMNS[name]
        cells = draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows))
        columns[name] = pa.array(cells, kind)
    return pa.table(columns)


@pytest.mark.parametrize("bits", [64, 1], ids=["", "all hashes collide"])
@settings(deadline=None)
@given(table=tables(), offset=st.integers(0, 3))
def test_groups_are_exactly_the_equal_rows(table: pa.Table, offset: int, bits: int):
    table = table.slice(offset)
    hashes = hash_rows(table, table.column_names) >> np.uint64(64 - bits)
    rows = [tuple(normal(v) for v in row.values()) for row in table.to_pylist()]
    with pytest.MonkeyPatch.context() as patch:
        if bits < 64:
            patch.setattr(keys, "is_hash_exact", lambda *_: False)
        groups = group_rows(table, table.column_names, hashes)
    assert groups.count == len(set(rows))
    by_code = {code: {rows[i] for i in np.flatnonzero(groups.codes == code)} for code in range(groups.count)}
    assert all(len(of_code) == 1 for of_code in by_code.values())
    assert sorted(groups.order.tolist()) == list(range(len(rows)))
    assert groups.codes[groups.order].tolist() == sorted(groups.codes.tolist())
    assert groups.codes[groups.first].tolist() == list(range(groups.count))


@settings(deadline=None)
@given(table=tables())
def test_equal_rows_have_equal_hashes(table: pa.Table):
    hashes = hash_rows(table, table.column_names).tolist()
    rows = [tuple(normal(v) for v in row.values()) for row in table.to_pylist()]
    seen: dict[Any, int] = {}
    for row, value in zip(rows, hashes, strict=True):
        assert seen.setdefault(row, value) == value
    assert len(set(seen.values())) == len(seen)


def test_null_equals_null_only_where_it_should():
    table = pa.table({"n": pa.array([1, None], pa.int64())})
    at = np.array([0, 1])
    assert equal_rows(table, at, ["n"], table, at, ["n"], nulls_equal=True).tolist() == [True, True]
    assert equal_rows(table, at, ["n"], table, at, ["n"], nulls_equal=False).tolist() == [True, False]
    assert has_null(table, ["n"]).tolist() == [False, True]


def test_without_columns_all_rows_are_one_key():
    table = pa.table({"n": [1, 2, 3]})
    assert group_rows(table, []).count == 1


def test_lists_are_equal_when_their_items_are():
    nan = float("nan")
    lists = [[nan], [nan], [0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [1.0], [], [None], None, None]
    table = pa.table({"l": pa.array(lists, pa.list_(pa.float64()))})
    at = np.arange(len(lists) - 1)
    equal = equal_rows(table, at, ["l"], table, at + 1, ["l"], nulls_equal=True).tolist()
    assert equal == [True, False, True, False, False, False, False, False, True]
    assert group_rows(table, ["l"]).count == 7


def test_decimals_bytes_and_structs_are_grouped_by_value() -> None:
    values = {
        "decimal": pa.array(
            [Decimal("1.50"), Decimal("-1.50"), Decimal("1.5"), None, None], pa.decimal128(38, 2)
        ),
        "bytes": pa.array([b"", b"\x00", b"", None, None]),
        "struct": pa.array([{"a": 1, "b": None}, {"a": None, "b": ["x"]}, {"a": 1, "b": None}, None, None]),
    }
    for name, column in values.items():
        for table in (pa.table({"c": column}), pa.table({"c": pa.concat_arrays([column, column]).slice(5)})):
            codes = group_rows(table, ["c"]).codes.tolist()
            assert (codes[0] == codes[2], codes[3] == codes[4], len(set(codes))) == (True, True, 3), name
