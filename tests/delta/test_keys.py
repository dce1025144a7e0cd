from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta import keys
from panes.delta.keys import equal_rows, group_rows, has_null, hash_rows

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


def test_hashes_do_not_depend_on_how_a_column_is_stored():
    whole = pa.table({"s": ["a", "bc", None, "abcdefghijk"]})
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    assert hash_rows(parts, ["s"]).tolist() == hash_rows(whole, ["s"]).tolist()
    coded = pa.table({"s": whole["s"].combine_chunks().dictionary_encode()})
    assert hash_rows(coded, ["s"]).tolist() == hash_rows(whole, ["s"]).tolist()


def test_hashes_stay_what_they_were_when_state_was_written():
    table = pa.table({"n": [1, None], "s": ["panes", None]})
    assert hash_rows(table, ["n", "s"]).tolist() == HASHES


HASHES = [4168829377950766811, 14420271080160633713]


def test_null_equals_null_only_where_it_should():
    table = pa.table({"n": pa.array([1, None], pa.int64())})
    at = np.array([0, 1])
    assert equal_rows(table, at, ["n"], table, at, ["n"], nulls_equal=True).tolist() == [True, True]
    assert equal_rows(table, at, ["n"], table, at, ["n"], nulls_equal=False).tolist() == [True, False]
    assert has_null(table, ["n"]).tolist() == [False, True]


def test_without_columns_all_rows_are_one_key():
    table = pa.table({"n": [1, 2, 3]})
    assert group_rows(table, []).count == 1
