"""The contents of a table: what they hold after changes, and what a change and a lookup cost."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hst

from panes.language import parse
from panes.language.statements import CreateTable
from panes.plan.expressions import Call, Column, Literal
from panes.plan.types import BIGINT, BOOLEAN, INT
from panes.tables.table_contents import Contents

KEYED = "CREATE TABLE hosts (id INT, name STRING, load DOUBLE, PRIMARY KEY (id))"
PLAIN = "CREATE TABLE hosts (id INT, name STRING, load DOUBLE)"


def defined(text: str) -> CreateTable:
    (statement,) = parse(text)
    assert isinstance(statement, CreateTable)
    return statement


def change(definition: CreateTable, *rows: tuple[Any, ...]) -> pa.Table:
    """A change from rows with their weight at the end."""
    schema = definition.columns.arrow.append(pa.field("_weight", pa.int64()))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema
    )


def held(contents: Contents) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in contents.rows().to_pylist())


def ids(*values: int | None) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int32())})


def test_new_contents_have_no_rows_but_the_columns():
    contents = Contents(defined(KEYED))
    assert contents.row_count == 0
    assert contents.rows().schema == defined(KEYED).columns.arrow
    assert contents.with_keys(ids(1)).num_rows == 0


def test_an_update_deletes_the_old_row_and_inserts_the_new_one():
    definition = defined(KEYED)
    first = Contents(definition).applied(change(definition, (1, "a", 0.5, 1), (2, "b", None, 1)))
    second = first.applied(change(definition, (1, "a", 0.5, -1), (1, "A", 0.5, 1)))
    assert held(second) == Counter([(1, "A", 0.5), (2, "b", None)])
    assert second.row_count == 2


def test_contents_stay_what_they_were_when_a_change_is_applied():
    definition = defined(KEYED)
    first = Contents(definition).applied(change(definition, (1, "a", 0.5, 1)))
    first.applied(change(definition, (1, "a", 0.5, -1)))
    assert held(first) == Counter([(1, "a", 0.5)])
    assert first.applied(change(definition)) is first


def test_rows_of_a_table_without_a_key_repeat():
    definition = defined(PLAIN)
    contents = Contents(definition).applied(change(definition, (1, "a", None, 3), (None, None, None, 1)))
    contents = contents.applied(change(definition, (1, "a", None, -1)))
    assert held(contents) == Counter({(1, "a", None): 2, (None, None, None): 1})
    assert contents.row_count == 3
    found = contents.with_keys(definition.columns.arrow.empty_table())
    assert found.num_rows == 0


def test_rows_without_a_key_are_found_by_all_of_their_columns():
    definition = defined(PLAIN)
    contents = Contents(definition).applied(change(definition, (1, "a", None, 2), (1, "b", None, 1)))
    wanted = change(definition, (1, "a", None, 1)).drop_columns(["_weight"])
    assert contents.with_keys(wanted).to_pylist() == [{"id": 1, "name": "a", "load": None}] * 2


def test_rows_are_found_by_their_key_through_all_changes():
    definition = defined(KEYED)
    contents = Contents(definition)
    for version in range(50):
        old = [] if version == 0 else [(n, str(version - 1), 0.0, -1) for n in range(20)]
        new = [(n, str(version), 0.0, 1) for n in range(20)]
        contents = contents.applied(change(definition, *old, *new))
    found = contents.with_keys(ids(3, 7, 3, 99))
    assert sorted(found.column("id").to_pylist()) == [3, 7]
    assert set(found.column("name").to_pylist()) == {"49"}
    assert contents.row_count == 20


def test_a_key_of_several_columns_is_found():
    definition = defined("CREATE TABLE t (a STRING, b DATE, c INT, PRIMARY KEY (b, a))")
    rows = [("x", day, day, 1) for day in range(5)] + [("y", 2, 7, 1)]
    contents = Contents(definition).applied(change(definition, *rows))
    keys = pa.table({"b": pa.array([2, 3], pa.date32()), "a": ["y", "x"]})
    assert sorted(contents.with_keys(keys).column("c").to_pylist()) == [3, 7]


def test_matching_rows_carry_how_often_they_are_there():
    definition = defined(PLAIN)
    contents = Contents(definition).applied(change(definition, (1, "a", None, 3), (2, "b", None, 1)))
    contents = contents.applied(change(definition, (1, "a", None, -1)))
    condition = Call(BOOLEAN, "eq", (Column(INT, "id"), Literal(INT, 1)))
    (row,) = contents.matching(condition).to_pylist()
    assert row == {"id": 1, "name": "a", "load": None, "_weight": 2}


def test_a_deleted_row_does_not_fail_a_condition():
    """The condition overflows for a row that was deleted, and whose chunk is still there."""
    definition = defined("CREATE TABLE t (a BIGINT, PRIMARY KEY (a))")
    contents = Contents(definition).applied(change(definition, (2**62, 1), *((n, 1) for n in range(9))))
    contents = contents.applied(change(definition, (2**62, -1)))
    twice = Call(BIGINT, "multiply", (Column(BIGINT, "a"), Literal(BIGINT, 2)))
    condition = Call(BOOLEAN, "eq", (twice, Literal(BIGINT, 6)))
    assert contents.matching(condition).column("a").to_pylist() == [3]


def test_what_was_never_inserted_cannot_be_deleted():
    definition = defined(PLAIN)
    contents = Contents(definition).applied(change(definition, (1, "a", None, -1), (2, "b", None, 1)))
    with pytest.raises(ValueError, match="more was deleted than inserted"):
        contents.rows()


def test_a_change_of_one_row_leaves_the_large_chunks_alone():
    definition = defined("CREATE TABLE t (a BIGINT, b BIGINT, PRIMARY KEY (a))")
    many = pa.table(
        {"a": np.arange(100_000), "b": np.zeros(100_000, np.int64), "_weight": np.ones(100_000, np.int64)}
    )
    contents = Contents(definition).applied(many)
    large = contents._stored.chunks[0]
    for version in range(200):
        contents = contents.applied(change(definition, (5, version, -1), (5, version + 1, 1)))
    assert contents._stored.chunks[0] is large
    assert len(contents._stored.chunks) < 20
    assert sum(chunk.rows for chunk in contents._stored.chunks[1:]) < 2048
    assert contents.with_keys(pa.table({"a": [5]})).column("b").to_pylist() == [200]


def test_changes_of_different_keys_become_a_chunk_together():
    definition = defined("CREATE TABLE t (a BIGINT, b BIGINT, PRIMARY KEY (a))")
    contents = Contents(definition)
    for key in range(200):
        contents = contents.applied(change(definition, (key, 0, 1)))
        assert contents.with_keys(pa.table({"a": [key + 1]})).num_rows == 0
    assert contents._stored.chunks == ()
    assert contents.with_keys(pa.table({"a": [7]})).column("b").to_pylist() == [0]
    assert [chunk.rows for chunk in contents._stored.chunks] == [200]
    for key in range(1000):
        contents = contents.applied(change(definition, (key + 200, 0, 1)))
    assert len(contents._stored.loose) <= 512
    assert contents.rows().num_rows == contents.row_count == 1200


def test_contents_are_the_same_for_all_who_read_them_at_once():
    definition = defined("CREATE TABLE t (a BIGINT, b BIGINT, PRIMARY KEY (a))")
    contents = Contents(definition)
    for key in range(300):
        contents = contents.applied(change(definition, (key, 0, 1)))
        contents = contents.applied(change(definition, (key, 0, -1), (key, 1, 1)))
    keys = pa.table({"a": np.arange(300)})
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(contents.with_keys, keys) for _ in range(20)]
        asked += [threads.submit(contents.rows) for _ in range(20)]
    for rows in asked:
        assert rows.result().column("b").to_pylist() == [1] * 300


def test_chunks_do_not_outlive_the_rows_in_them():
    definition = defined("CREATE TABLE t (a BIGINT, PRIMARY KEY (a))")
    many = pa.table({"a": np.arange(100_000), "_weight": np.ones(100_000, np.int64)})
    contents = Contents(definition).applied(many)
    contents = contents.applied(many.set_column(1, "_weight", pa.array(-np.ones(100_000, np.int64))))
    assert contents.row_count == 0
    assert sum(chunk.rows for chunk in contents._stored.chunks) == 0


VALUES = hst.tuples(
    hst.integers(0, 3), hst.sampled_from(["a", "b", None]), hst.sampled_from([0.0, 1.5, None, float("nan")])
)


@given(hst.lists(hst.lists(hst.tuples(VALUES, hst.integers(1, 2), hst.booleans()), max_size=6), max_size=12))
def test_contents_equal_the_multiset_after_any_changes(steps: list[list[tuple[Any, int, bool]]]):
    definition = defined(PLAIN)
    contents = Contents(definition)
    expected: Counter[str] = Counter()
    rows: dict[str, tuple[Any, ...]] = {}
    for step in steps:
        net: Counter[str] = Counter()
        for row, weight, inserts in step:
            rows[repr(row)] = row
            net[repr(row)] += weight if inserts else -weight
        for key in list(net):
            net[key] = max(net[key], -expected[key])
        for key, weight in net.items():
            expected[key] += weight
        contents = contents.applied(
            change(definition, *((*rows[key], weight) for key, weight in net.items() if weight))
        )
        assert Counter(map(repr, (tuple(row.values()) for row in contents.rows().to_pylist()))) == +expected
        assert contents.row_count == expected.total()
