"""Replacing all rows: only what differs changes."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hst

from panes.tables.constraints import Violation
from panes.tables.net_change import net_change, weighted
from panes.tables.replace_rows import replace_rows
from panes.tables.table_contents import Contents
from tests.tables.memory_tables import MemoryTables

TABLES = MemoryTables(
    "CREATE TABLE t (k BIGINT PRIMARY KEY, v STRING); CREATE TABLE bag (k BIGINT, v STRING)"
)
VALUES = hst.tuples(hst.integers(0, 6), hst.sampled_from(["a", "b", None]))
KEYED = hst.lists(VALUES, unique_by=lambda row: row[0])


def table(rows: list[tuple[int | None, str | None]]) -> pa.Table:
    return pa.table(
        {"k": pa.array([k for k, _ in rows], pa.int64()), "v": pa.array([v for _, v in rows], pa.string())}
    )


def holding(name: str, rows: list[tuple[int | None, str | None]]) -> Contents:
    definition = TABLES.definitions[name]
    return Contents(definition).applied(net_change(definition, [weighted(table(rows), 1)]))


@given(KEYED, KEYED)
def test_a_keyed_table_holds_exactly_the_new_rows(old, new):
    before, after = dict(old), dict(new)
    change = replace_rows(holding("t", old), table(new))
    contents = holding("t", old).applied(change.rows)
    assert Counter(map(tuple, (row.values() for row in contents.rows().to_pylist()))) == Counter(new)
    assert change.counts.inserted == len(after.keys() - before.keys())
    assert change.counts.deleted == len(before.keys() - after.keys())
    assert change.counts.updated == sum(before[k] != after[k] for k in before.keys() & after.keys())
    assert change.rows.num_rows == change.counts.inserted + change.counts.deleted + 2 * change.counts.updated


@given(hst.lists(VALUES), hst.lists(VALUES))
def test_a_table_without_a_key_holds_each_row_as_often_as_it_is_given(old, new):
    change = replace_rows(holding("bag", old), table(new))
    contents = holding("bag", old).applied(change.rows)
    assert Counter(map(tuple, (row.values() for row in contents.rows().to_pylist()))) == Counter(new)
    before, after = Counter(old), Counter(new)
    assert change.counts.inserted == (after - before).total()
    assert change.counts.deleted == (before - after).total()


def test_the_new_rows_fulfill_the_constraints():
    with pytest.raises(Violation, match="the primary key k = 1 is given twice"):
        replace_rows(holding("t", []), table([(1, "a"), (1, "b")]))
    with pytest.raises(Violation, match="k is part of the primary key and cannot be NULL"):
        replace_rows(holding("t", []), table([(None, "a")]))
