"""Deltas in their simplest form."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.delta.consolidate import changes_of, consolidate, contents_at, difference
from panes.delta.delta import FOREVER, Delta


def rows(*values: tuple[str | None, int, int, int]) -> pa.Table:
    """Rows of a delta from (a, ts, exp, weight)."""
    names, ts, exp, weight = zip(*values, strict=True) if values else ((), (), (), ())
    return pa.table(
        {
            "a": pa.array(names, pa.string()),
            "_ts": pa.array(ts, pa.int64()),
            "_exp": pa.array(exp, pa.int64()),
            "_weight": pa.array(weight, pa.int64()),
        }
    )


def as_tuples(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=str)


def test_rows_of_one_value_and_lifetime_become_one() -> None:
    delta = Delta(rows(("x", 1, 5, 1), ("x", 1, 5, 1), ("x", 1, 6, 1), ("y", 1, 5, 1), ("y", 1, 5, -1)), 1)
    assert as_tuples(consolidate(delta).table) == [("x", 1, 5, 2), ("x", 1, 6, 1)]


def test_known_end_and_later_retraction_mean_the_same() -> None:
    known = rows(("x", 1, 5, 1))
    taken_back = rows(("x", 1, FOREVER, 1), ("x", 5, FOREVER, -1))
    assert as_tuples(changes_of(known)) == as_tuples(changes_of(taken_back)) == [("x", 1, 1), ("x", 5, -1)]


def test_two_lifetimes_that_follow_each_other_are_one() -> None:
    assert as_tuples(changes_of(rows(("x", 1, 5, 1), ("x", 5, 9, 1)))) == [("x", 1, 1), ("x", 9, -1)]


def test_contents_repeat_a_value_as_often_as_it_is_held() -> None:
    table = rows(("x", 1, 5, 2), ("x", 3, FOREVER, -1), (None, 2, 4, 1))
    assert contents_at(table, 2).column("a").to_pylist().count("x") == 2
    assert as_tuples(contents_at(table, 3)) == [("x",), (None,)]
    assert contents_at(table, 0).num_rows == 0


def test_more_taken_back_than_given_is_an_error() -> None:
    with pytest.raises(ValueError, match="more was taken back than given"):
        contents_at(rows(("x", 1, FOREVER, -1)), 2)


def test_difference_counts_copies() -> None:
    one, other = pa.table({"a": ["x", "x", "y", None]}), pa.table({"b": ["x", None, "z"]})
    assert as_tuples(difference(one, other)) == [("x",), ("y",)]
